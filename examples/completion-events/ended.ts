import { app } from "@azure/functions";

/**
 * Posts a line to a chat for each run that has ended, from the queue that LEASEFOLD_ENDED_QUEUE names. It is a function of an app of
 * your own: `DataStorage` is its connection to the data account, CHAT_URL the address that the chat gave you, and its host.json needs
 * `"messageEncoding": "none"` for queues. A handler that throws gets the message again. An event may come twice: `data.id` is the same.
 */
export async function postToChat(event: unknown): Promise<void> {
  const { run, outcome, error } = (event as Ended).data;
  const text = `${run} ${outcome}${error === undefined ? "" : `: ${error.message}`}`;
  const headers = { "content-type": "application/json" };
  const answer = await fetch(String(process.env["CHAT_URL"]), {
    ...{ method: "POST", headers, body: JSON.stringify({ text }) },
  });
  if (!answer.ok) throw new Error(`the chat answered ${answer.status}`);
}

interface Ended {
  readonly data: {
    readonly run: string;
    readonly outcome: string;
    readonly error?: { readonly message: string };
  };
}

app.storageQueue("ended", {
  ...{ queueName: "%LEASEFOLD_ENDED_QUEUE%", connection: "DataStorage", handler: postToChat },
});
