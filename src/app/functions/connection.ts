/** The setting prefix of the data storage, for triggers, output bindings and the SDK alike. */
export const connection = "DataStorage";
