import { createRequire } from "node:module";

/** A node of Microsoft's syntax tree of KQL (@kusto/language-service-next), as far as it is used here. */
export interface KqlNode {
  readonly ChildCount: number;
  readonly Text?: string;
  readonly LiteralValue?: unknown;
  readonly constructor: { readonly $$name: string };
  GetChild(index: number): KqlNode | null;
}

interface Code {
  readonly Syntax: KqlNode;
  GetDiagnostics(): {
    readonly Count: number;
    getItem(at: number): { readonly Start: number; readonly Message: string };
  };
}

interface Library {
  readonly KustoCode: { ParseAndAnalyze(text: string, state: unknown): Code };
  readonly GlobalState: { readonly Default: { WithDatabase(database: unknown): unknown } };
  readonly Symbols: {
    readonly TableSymbol: { From(schema: string): { WithName(name: string): unknown } };
    readonly DatabaseSymbol: {
      readonly $ctor2: new (name: string, also: string | null, tables: unknown[], open: boolean) => unknown;
    };
  };
}

/**
 * The columns that the queries may use (learn.microsoft.com/azure/azure-monitor/reference/tables). Tables of storage logs
 * exist with their first row only; `Usage` and `_LogOperation` are the workspace's own.
 */
const logColumns =
  "TimeGenerated:datetime,OperationName:string,AppRoleName:string,Properties:dynamic,ItemCount:int";
const storageColumns = "TimeGenerated:datetime,OperationName:string,StatusCode:string,Uri:string";
const tables: Readonly<Record<string, string>> = {
  AppTraces: `${logColumns},Message:string,SeverityLevel:int`,
  AppExceptions: `${logColumns},OuterType:string,OuterMessage:string,InnermostMessage:string,SeverityLevel:int`,
  StorageBlobLogs: storageColumns,
  StorageQueueLogs: storageColumns,
  Usage: "TimeGenerated:datetime,DataType:string,Quantity:real,IsBillable:bool",
  // learn.microsoft.com/azure/azure-monitor/logs/monitor-workspace
  _LogOperation: "TimeGenerated:datetime,Category:string,Operation:string,Level:string,Detail:string",
};

let loaded: { library: Library; state: unknown } | undefined;
const known = new Map<string, Code>();

/** Parses and analyzes a query with the language service that Azure's portal uses; the same text once. */
export function analyzeQuery(text: string): Code {
  loaded ??= load();
  const code = known.get(text) ?? loaded.library.KustoCode.ParseAndAnalyze(text, loaded.state);
  known.set(text, code);
  return code;
}

/** Its two files run for their effect: they leave a global. */
function load() {
  const require = createRequire(import.meta.url);
  require("@kusto/language-service-next/bridge.min.js");
  require("@kusto/language-service-next/Kusto.Language.Bridge.min.js");
  const library = (globalThis as unknown as { Kusto: { Language: Library } }).Kusto.Language;
  const { TableSymbol, DatabaseSymbol } = library.Symbols;
  const symbols = Object.entries(tables).map(([name, columns]) =>
    TableSymbol.From(`(${columns})`).WithName(name),
  );
  const state = library.GlobalState.Default.WithDatabase(
    new DatabaseSymbol.$ctor2("logs", null, symbols, false),
  );
  return { library, state };
}
