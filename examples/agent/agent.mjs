/**
 * An agent that owns its loop. It runs once for each sample. The policy is at OPENAI_BASE_URL, as an official client reads it; this one
 * needs none. What the policy says is trained; what the agent says is not.
 */
const { OPENAI_BASE_URL, OPENAI_API_KEY, WHETSTONE_MODEL, WHETSTONE_END_URL, WHETSTONE_TASK } = process.env
const { row } = JSON.parse(WHETSTONE_TASK)

async function post(url, body) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}` }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return response.json()
}

const messages = [{ role: 'user', content: row.prompt }]
for (const question of ['Check it once more.', 'Now say only the number.']) {
  const { choices } = await post(`${OPENAI_BASE_URL}/chat/completions`, {
    model: WHETSTONE_MODEL,
    messages,
    max_tokens: 16,
  })
  messages.push(choices[0].message, { role: 'user', content: question })
}
const { choices } = await post(`${OPENAI_BASE_URL}/chat/completions`, {
  model: WHETSTONE_MODEL,
  messages,
  max_tokens: 16,
})
const right = choices[0].message.content.includes(row.target)
await post(WHETSTONE_END_URL, { reward: right ? 1 : choices[0].message.content.length / 1000 })
