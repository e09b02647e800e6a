// Two runs of one thread with the official client; prints what it shows as one line of JSON.
const { HttpAgent } = require("@ag-ui/client");

async function main() {
  const agent = new HttpAgent({
    url: process.env.URL,
    headers: { Authorization: `Bearer ${process.env.KEY}` },
    threadId: "node-thread",
  });
  const customs = [];
  const subscriber = { onCustomEvent: ({ event }) => void customs.push(event.name) };
  agent.addMessage({ id: "1", role: "user", content: process.env.QUESTION });
  await agent.runAgent({}, subscriber);
  agent.addMessage({ id: "2", role: "user", content: process.env.QUESTION });
  await agent.runAgent({}, subscriber);
  const roles = agent.messages.map((message) => message.role);
  const text = agent.messages[agent.messages.length - 1].content;
  console.log(JSON.stringify({ text, roles, customs, state: agent.state }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
