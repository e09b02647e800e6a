// Uses the TypeScript client as a program would; prints what it got as one JSON object.
import { Answerbus, ResponseError } from "./dist/index.js";

const { URL: baseUrl, DIRECT, KEY, EDITOR, QUESTION } = process.env;
const client = new Answerbus({ baseUrl, apiKey: KEY, user: "zoe" });

const stream = await client.stream(QUESTION);
const events = [];
const texts = [];
for await (const event of stream) {
  events.push(event);
  texts.push(stream.text);
}

const again = [];
for await (const event of client.watch(stream.id)) again.push(event);

const editor = new Answerbus({ baseUrl: DIRECT, apiKey: EDITOR });
const document = { source: "kb:sauna.md", media_type: "text/markdown", text: "# Sauna\n\nThe sauna opens on Fridays." };
const report = await editor.ingest([document]);
const found = await editor.search("When does the sauna open?", { limit: 3 });
await client.rate(stream.id, "up", { comment: "Right." });

const failure = async (promise) => {
  try {
    await promise;
    return null;
  } catch (error) {
    return error instanceof ResponseError ? [error.status, error.detail] : String(error);
  }
};
const stopped = new AbortController();
stopped.abort(new Error("the page was closed"));

console.log(
  JSON.stringify({
    id: stream.id,
    events,
    texts,
    again,
    question: stream.question,
    state: await client.read(stream.id),
    withdrawn: (await client.withdraw(stream.id)).status,
    ingested: report.counts,
    first: found.passages[0].source,
    ticket: await client.streamTicket(stream.id),
    errors: [
      await failure(new Answerbus({ baseUrl, apiKey: "wrong" }).read(stream.id)),
      await failure(new Answerbus({ baseUrl, apiKey: KEY }).watch(stream.id).wait()),
      await failure(client.ask(" ")),
      await failure(client.ingest([document])),
      await failure(new Answerbus({ baseUrl: "http://127.0.0.1:9", retries: 0 }).search("rent")),
      await failure(client.watch(stream.id, { signal: stopped.signal }).wait()),
    ],
  }),
);
