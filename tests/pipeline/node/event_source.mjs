// Watches a question with EventSource, as a page does that has only an address with a ticket; it never closes it.
import { EventSource } from "eventsource";

const names = ["status", "notice", "token", "reset", "citation", "followups", "result"];
const source = new EventSource(process.env.URL);
const events = [];
for (const name of names) {
  source.addEventListener(name, (event) => events.push({ name, data: JSON.parse(event.data), id: event.lastEventId }));
}
let errors = 0;
const code = await new Promise((resolve) => {
  source.addEventListener("error", (event) => {
    errors += 1;
    if (source.readyState === EventSource.CLOSED) resolve(event.code ?? 0);
  });
});
console.log(JSON.stringify({ events, errors, code }));
