/** An agent as a user writes one: the official client, a loop with one tool. `AGENT_FAULT` makes it go wrong. */
import OpenAI from 'openai'

const task = JSON.parse(process.env.WHETSTONE_TASK)
const fault = process.env.AGENT_FAULT
const client = new OpenAI({ maxRetries: 0 })
if (fault === 'crash') throw new Error('the agent broke')
const tools = [
  {
    type: 'function',
    function: {
      name: 'add',
      description: 'Adds two numbers.',
      parameters: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
    },
  },
]
const messages = [{ role: 'user', content: task.row.question }]
for (;;) {
  const { choices } = await client.chat.completions.create({ model: process.env.WHETSTONE_MODEL, messages, tools })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls) break
  for (const { id, function: called } of message.tool_calls) {
    const { a, b } = JSON.parse(called.arguments)
    messages.push({ role: 'tool', tool_call_id: id, content: String(a + b) })
  }
}
const right = messages.at(-1).content.includes(task.row.answer)
const ended = await fetch(process.env.WHETSTONE_END_URL, {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
  body: JSON.stringify({ reward: right ? 1 : 0 }),
})
if (!ended.ok) throw new Error(await ended.text())
