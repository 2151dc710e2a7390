import { spawn } from "node:child_process";
import { once } from "node:events";

/** The program of each system that opens a file as a double click does. */
const programs: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["explorer.exe"],
};

/** Opens a file of the user's own with the program that the system has for it. Rejects where none starts. */
export async function openFile(path: string): Promise<void> {
  const [program = "xdg-open", ...args] = programs[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, path], { detached: true, stdio: "ignore", windowsHide: true });
  await once(child, "spawn");
  child.unref();
}
