/**
 * Built-in roles by name (learn.microsoft.com/azure/role-based-access-control/built-in-roles): the table that the
 * templates are held to.
 */
export const roleIds: Readonly<Record<string, string>> = {
  Contributor: "b24988ac-6180-42a0-ab88-20f7382dd24c",
  "Role Based Access Control Administrator": "f58310d9-a9f6-439a-9e8d-f62e7b41a168",
  "Storage Blob Data Owner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
  "Storage Blob Data Contributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
  "Storage Blob Data Reader": "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
  "Storage Blob Delegator": "db58b8e5-c6ad-4a2a-8342-4190687cbf4a",
  "Storage Queue Data Contributor": "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
  "Storage Queue Data Reader": "19e7f393-937e-4f77-808e-94535e297925",
  "Storage Queue Data Message Processor": "8a0f0c08-91a1-4084-bc3d-661d67233fed",
  "Storage Queue Data Message Sender": "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a",
  "Monitoring Metrics Publisher": "3913510d-42f4-4e42-8a64-420c390055eb",
};
