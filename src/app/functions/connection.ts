/** The setting prefix of the data storage, for triggers and the SDK alike. */
export const connection = "DataStorage";
