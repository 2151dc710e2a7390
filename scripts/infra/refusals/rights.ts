import { at, type Resource } from "../evaluate/values.ts";
import { not, prop, type Refusal } from "./refusal.ts";

export const identityCredential =
  "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials";
const roleAssignment = "Microsoft.Authorization/roleAssignments";

/** Identities and what they may do. */
export const ofRights: readonly Refusal[] = [
  {
    rule: "refused-subject",
    by: "Entra",
    code: "AADSTS700213",
    seen: ["Azure/azure-dev#9382", "Azure/azure-dev#9430", "Azure/login#635", "Azure/login#515"],
    on: identityCredential,
    wrong: (one, { given }) => {
      const prefix = given["subjectPrefix"] || `repo:${given["repository"]}`;
      const subject = String(prop(one, "subject"));
      const says = `${subject} is not how GitHub's tokens begin: ${prefix}:environment:`;
      return not(subject.startsWith(`${prefix}:environment:`), says, "subject:");
    },
  },
  {
    rule: "refused-subject-twice",
    by: "ARM",
    code: "Issuer and subject combination already exists for this Managed Identity",
    seen: ["Azure/bicep-types-az#2029"],
    on: identityCredential,
    wrong: (one, { all }) => {
      const same = ({ type, body, name }: Resource) =>
        type === one.type &&
        name !== one.name &&
        body["parent"] === one.body["parent"] &&
        at(body, "properties", "subject") === prop(one, "subject");
      return not(!all.some(same), `${one.name} has the subject of another`, "subject:");
    },
  },
  {
    rule: "refused-role-change",
    by: "ARM",
    code: "RoleAssignmentUpdateNotPermitted",
    seen: ["Azure-Samples/graphrag-accelerator#168", "Azure/acs-engine#2916", "Azure/bicep#5831"],
    on: roleAssignment,
    wrong: (one) => {
      const principal = String(prop(one, "principalId"));
      const says = `the name ${one.name} lacks its principal: an identity that is made anew meets the old assignment`;
      return not(one.name.includes(principal), says, "name: guid(");
    },
  },
  {
    rule: "refused-role-twice",
    by: "ARM",
    code: "RoleAssignmentExists",
    seen: ["Azure/bicep#19936", "Azure/bicep#18454"],
    on: roleAssignment,
    wrong: (one, { all }) => {
      const what = ({ type, id, name, body }: Resource) =>
        [
          ...[type, id.slice(0, id.length - name.length)],
          ...["principalId", "roleDefinitionId"].map((key) => String(at(body, "properties", key))),
        ].join(" ");
      const twin = all.find((other) => other !== one && what(other) === what(one));
      return not(twin === undefined, `${one.name} and ${twin?.name} are one assignment`, "name: guid(");
    },
  },
];
