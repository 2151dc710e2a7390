/** Saves bytes as a file. An address of a blob loads nothing, so the policy of the page is not touched. */
export function saveFile(file: {
  readonly bytes: BlobPart;
  readonly contentType: string;
  readonly fileName: string;
}): void {
  const url = URL.createObjectURL(new Blob([file.bytes], { type: file.contentType }));
  const link = document.createElement("a");
  link.href = url;
  link.download = file.fileName;
  link.click();
  // The browser takes the bytes over in a later task.
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
