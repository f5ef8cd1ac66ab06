/** Calls of a turn: checked against the tools, run in the order or at the same time, each with its limits and its records. */
import { createHash } from 'node:crypto'
import { didYouMean } from '../errors/index.js'
import type { ParsedCall, Tokenizer } from '../text/index.js'
import { checkedResult, cutText } from './cut-result.js'
import type { EpisodeKey, ToolCall } from './environment.js'
import { Fault } from './fault.js'
import type { EpisodeJournal } from './journal.js'
import type { RecordedAttempt } from './recorded.js'
import type { Tool, ToolResult } from './tool.js'

/** Nine letters and digits, because some chat templates take no others. A repeated call gets the same id. */
export function callId({ promptId, sample, attempt }: EpisodeKey, turn: number, place: number): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([promptId, sample, attempt, turn, place]))
    .digest()
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
  return Array.from(digest.subarray(0, 9), byte => letters[byte % letters.length]).join('')
}

/** A call with the tool's view of its input. */
export function checkCall(call: ParsedCall, id: string, tools: readonly Tool[]): ToolCall {
  const { name, argumentsText } = call
  const known = { id, name, argumentsText }
  if (call.status !== 'ok') return { ...known, status: call.status, message: call.message }
  const tool = tools.find(one => one.name === name)
  const names = tools.map(one => one.name)
  if (!tool) {
    const hint = didYouMean(name, names) || `; there are ${names.join(', ')}`
    return { ...known, status: 'unknown-tool', message: `there is no tool "${name}"${hint}` }
  }
  const checked = tool.check(call.arguments)
  return checked.kind === 'ok'
    ? { ...known, status: 'ok', input: checked.input }
    : { ...known, status: 'schema', message: checked.message }
}

export interface CallOptions {
  readonly key: EpisodeKey
  readonly turn: number
  readonly tools: readonly Tool[]
  readonly tokenizer: Tokenizer
  readonly journal: EpisodeJournal | undefined
  /** What an earlier process recorded. Its results of pure calls are used. */
  readonly recorded: RecordedAttempt | undefined
  /** Aborts when the episode ends. */
  readonly signal: AbortSignal
}

export interface CallResult {
  readonly result: ToolResult
  readonly seconds: number
}

/** The results in the order of the calls. Calls run at the same time only if every one of them may be repeated. */
export async function runCalls(calls: readonly ToolCall[], options: CallOptions): Promise<CallResult[]> {
  const toolOf = ({ name }: ToolCall): Tool => options.tools.find(one => one.name === name)!
  const parallel = calls.every(call => call.status !== 'ok' || toolOf(call).effect !== 'once')
  const run = (call: ToolCall): Promise<CallResult> =>
    call.status === 'ok'
      ? runCall(call, toolOf(call), options)
      : Promise.resolve({ result: { content: `Error: ${call.message}`, isError: true }, seconds: 0 })
  if (parallel) {
    // All of them end before a fault of one is told: none runs on behind the back of the episode.
    const ended = await Promise.allSettled(calls.map(run))
    const lost = ended.find(one => one.status === 'rejected')
    if (lost) throw lost.reason
    return ended.map(one => (one as PromiseFulfilledResult<CallResult>).value)
  }
  const results: CallResult[] = []
  for (const call of calls) results.push(await run(call))
  return results
}

async function runCall(
  call: ToolCall & { readonly status: 'ok' },
  tool: Tool,
  { key, turn, tokenizer, journal, recorded, signal }: CallOptions,
): Promise<CallResult> {
  const { id, name } = call
  const known = tool.effect === 'pure' ? recorded?.result(id) : undefined
  if (known) return { result: known, seconds: 0 }
  await journal?.keepEpisode({ kind: 'call', ...key, turn, id, name, effect: tool.effect })
  const started = performance.now()
  const at = tool.effect === 'once' ? 'effect-unknown' : 'tool'
  const answer = await Fault.within({ at, what: `tool ${name}`, milliseconds: tool.timeoutMs, signal }, async limited =>
    tool.run(call.input, { id, episode: key, signal: limited }),
  )
  const seconds = (performance.now() - started) / 1000
  const checked = await Fault.at('tool', async () => checkedResult(name, answer))
  const result = { ...checked, content: await cutText(tokenizer, checked.content, tool.maxResultTokens) }
  await journal?.keepEpisode({ kind: 'call-result', ...key, turn, id, result, seconds })
  return { result, seconds }
}
