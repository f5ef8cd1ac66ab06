/** A chat with the policy of a run that trains. */
import { z } from 'zod'
import type { Generator } from '../../rollout/index.js'
import type { Tokenizer } from '../../text/index.js'

export const chatSchema = z.object({
  messages: z
    .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string().max(100_000) }))
    .min(1)
    .max(200),
  temperature: z.number().min(0).max(10),
  maxNewTokens: z.int().min(1).max(4096).default(256),
})
export type ChatQuestion = z.output<typeof chatSchema>

let asked = 0

/** Streams the answer as lines of text. Samples depend on their own names and seeds, so that a chat changes none of the training. */
export async function answerChat(
  { generator, tokenizer }: { generator: Generator; tokenizer: Tokenizer },
  { messages, temperature, maxNewTokens }: ChatQuestion,
  { send, signal }: { send: (line: unknown) => void; signal: AbortSignal },
): Promise<void> {
  const promptIds = tokenizer.hasChatTemplate
    ? await tokenizer.encodeChat(messages, { addGenerationPrompt: true })
    : await tokenizer.encode(messages.map(({ content }) => content).join('\n'))
  const id = `chat ${process.pid} ${++asked}`
  const { tokens: streams, text } = generator.capabilities
  let sent = 0
  const request = {
    id,
    promptId: id,
    promptIds,
    sampling: {
      seed: asked,
      temperature,
      maxNewTokens: Math.max(1, Math.min(maxNewTokens, generator.maxLength - promptIds.length)),
      ...(text ? { text: 'plain' as const } : {}),
    },
  }
  const options = streams
    ? {
        signal,
        onToken: ({ text: part }: { text: string }): void => {
          sent += part.length
          if (part !== '') send({ text: part })
        },
      }
    : { signal }
  for await (const outcome of generator.generate([request], options)) {
    if (outcome.kind !== 'completed') return send({ error: outcome.message })
    const whole = outcome.text ?? (await tokenizer.decode(outcome.responseIds, { skipSpecialTokens: true }))
    if (whole.length > sent) send({ text: whole.slice(sent) })
    send({ finish: outcome.finishReason, tokens: outcome.responseIds.length })
  }
}
