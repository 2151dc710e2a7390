/** The types of `leasefold/app`. They are written here because those of the implementation would lead to the whole engine. */

/** What an app says of itself. */
export interface AppOptions {
  /**
   * Folder of your calculations, as a path or a file URL: each TypeScript or JavaScript file directly in it whose name has one
   * dot. They are named by files because worker threads load them too. Without it the app has the built-in ones alone.
   */
  readonly calculations?: string | { readonly href: string } | undefined;
}

/**
 * Makes a Functions app of your own a Leasefold app: registers the timer, the queue triggers and the HTTP API, in the v4
 * programming model. Call it once, in the file that `main` of `package.json` names.
 */
export declare function registerLeasefold(options?: AppOptions): void;
