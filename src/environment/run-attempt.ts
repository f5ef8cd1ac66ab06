/**
 * One attempt at an episode, from the first message to the score. The loop is: limits, one turn of the policy, its calls, one step of the
 * session, and the ids of what they said.
 */
import { linkedController } from '../errors/index.js'
import { EngineLostError, type SamplingParams } from '../rollout/index.js'
import {
  type ChatMessage,
  type Junctions,
  parseTurn,
  resultOf,
  startsWith,
  type Tokenizer,
  type ToolFormat,
  turnText,
} from '../text/index.js'
import type {
  AgentSession,
  AssistantTurn,
  Environment,
  EpisodeKey,
  Session,
  StepResult,
  Task,
  ToolCall,
} from './environment.js'
import {
  type Completion,
  type Episode,
  type EpisodeOutcome,
  type Limit,
  limits as limitNames,
  type Stop,
  type Turn,
} from './episode.js'
import { EpisodeClock } from './episode-clock.js'
import { Fault, messageOf, OutOfTime } from './fault.js'
import type { EpisodeJournal } from './journal.js'
import type { EpisodeLimits } from './limits.js'
import type { Places } from './places.js'
import type { RecordedAttempt } from './recorded.js'
import { recordAgent } from './recorder/record-agent.js'
import type { ToolSets } from './recorder/tool-sets.js'
import type { Tool } from './tool.js'
import { type CallResult, callId, checkCall, runCalls } from './tool-calls.js'
import { answeredCall, messageOfTurn } from './turn-message.js'
import type { TurnSampler } from './turn-sampler.js'

/** What all episodes of a rollout share. */
export interface EpisodeWorld {
  readonly environment: Environment
  readonly tools: readonly Tool[]
  readonly tokenizer: Tokenizer
  readonly junctions: Junctions
  /** Of the tools that agents bring with them. */
  readonly toolSets: ToolSets
  readonly format: ToolFormat | undefined
  readonly limits: EpisodeLimits
  /** `maxNewTokens` is the budget of the whole episode. */
  readonly sampling: SamplingParams & { readonly maxNewTokens: number }
  /** Most tokens of a sequence. */
  readonly maxLength: number
  readonly turns: TurnSampler
  readonly journal: EpisodeJournal | undefined
  /** Hashes of the tools as the model reads them and of the chat template, for the record. */
  readonly identity: { readonly tools: string; readonly template: string }
  /** Prefix of request ids. */
  readonly name: string
  readonly places: Places
  /** Rollouts with a lower number get places first. */
  readonly order: number
}

export interface AttemptOptions {
  readonly task: Task
  readonly key: EpisodeKey
  /** The environment's: the same for all samples of a prompt. */
  readonly seed: number
  /** What an earlier process recorded of this attempt. */
  readonly recorded: RecordedAttempt | undefined
  readonly signal: AbortSignal
}

/** Faults are the outcome `failed`; it throws only for an aborted signal and for an engine that cannot be reached. */
export async function runAttempt(world: EpisodeWorld, options: AttemptOptions): Promise<EpisodeOutcome> {
  const { limits, turns: sampler } = world
  const { key, signal } = options
  const stopping = linkedController([signal])
  const clock = new EpisodeClock(limits.seconds, () => stopping.abort(new OutOfTime('the time limit of the episode')))
  const name = sessionName(world, key)
  const opened: { session?: Session | AgentSession } = {}
  const turns: Turn[] = []
  let outcome: EpisodeOutcome
  try {
    outcome = await speak(world, { ...options, signal: stopping.signal }, { turns, opened, clock })
  } catch (error) {
    if (error instanceof OutOfTime && turns.length > 0) outcome = ended(key, turns, 'time')
    else if (error instanceof OutOfTime)
      outcome = { kind: 'failed', key, at: 'start', message: `no turn within ${limits.seconds} seconds` }
    else if (error instanceof Fault)
      outcome = { kind: 'failed', key, at: error.at, message: error.message, turns: [...turns] }
    else {
      await closed(opened.session, limits.stepSeconds)
      throw error
    }
  } finally {
    clock.end()
    stopping.unlink()
    sampler.release(name)
  }
  const { session } = opened
  try {
    signal.throwIfAborted()
    if (session && 'episode' in outcome && outcome.kind !== 'unscorable')
      outcome = await scored(world, session, outcome, signal)
  } catch (error) {
    await closed(session, limits.stepSeconds)
    throw error
  }
  const leak = await closed(session, limits.stepSeconds)
  return leak === undefined ? outcome : withLeak(outcome, leak)
}

async function speak(
  world: EpisodeWorld,
  { task, key, seed, recorded, signal }: AttemptOptions,
  {
    turns,
    opened,
    clock,
  }: {
    readonly turns: Turn[]
    readonly opened: { session?: Session | AgentSession }
    readonly clock: EpisodeClock
  },
): Promise<EpisodeOutcome> {
  const { environment, tokenizer, junctions, limits, journal, sampling, maxLength } = world
  const inTime = <T>(at: 'open' | 'start' | 'step', work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const milliseconds = 1000 * (at === 'step' ? limits.stepSeconds : limits.openSeconds)
    return Fault.within({ at, what: `${at} of the environment ${environment.name}`, milliseconds, signal }, work)
  }
  const session = await inTime('open', async limited => {
    const made = await environment.open(task, { ...key, seed, signal: limited })
    // A session that opens too late is closed at once.
    if (limited.aborted) void closed(made, limits.stepSeconds)
    return made
  })
  opened.session = session
  if ('run' in session) {
    const { stop, sideCalls } = await recordAgent(world, session, { key, signal, turns, clock })
    const outcome = ended(key, turns, stop)
    return { ...outcome, episode: { ...outcome.episode, sideCalls } }
  }
  const tools = session.tools ?? world.tools
  let added = await inTime('start', limited => session.start(limited))
  checkMessages('start', added)
  const conversation: ChatMessage[] = [...added]
  let observationIds = await Fault.at('template', () => junctions.start(added))
  if (observationIds.length >= maxLength || observationIds.length === 0)
    return {
      kind: 'rejected',
      key,
      reason: observationIds.length === 0 ? 'empty-prompt' : 'prompt-too-long',
      message: `the prompt has ${observationIds.length} tokens, and sequences have at most ${maxLength}`,
    }
  let ids = observationIds
  let [segment, sampled, calls, invalid] = [0, 0, 0, 0]
  for (;;) {
    const turn = turns.length
    if (turn === limits.turns) return ended(key, turns, 'turns')
    const budget = Math.min(limits.turnTokens ?? Number.POSITIVE_INFINITY, sampling.maxNewTokens - sampled)
    const room = Math.min(budget, maxLength - ids.length)
    if (room < 1) return ended(key, turns, sampled === sampling.maxNewTokens ? 'sampled-tokens' : 'context')

    const stateKey = await Fault.at('step', async () => session.stateKey?.())
    const known = recorded?.turn(turn, segment, observationIds)
    const asked = { key, turn, ids, maxNewTokens: room, signal }
    const completion = known ?? (await clock.pausedFor(() => sampleTurn(world, asked)))
    if (!known)
      await journal?.keepEpisode({
        kind: 'turn',
        ...key,
        turn,
        segment,
        observationIds,
        messages: added,
        completion,
        stateKey,
      })
    const said = parseTurn(
      await turnText(tokenizer, completion.responseIds),
      tools.length > 0 ? world.format : undefined,
    )
    const checked = said.calls.map((call, i) => checkCall(call, callId(key, turn, i), tools))
    const message = messageOfTurn(said.text, said.reasoning, checked)
    const made = {
      segment,
      observationIds,
      messages: added,
      completion,
      length: completion.responseIds.length,
      message,
      text: said.text,
      calls: checked,
      stateKey,
    }
    turns.push({ ...made, reward: undefined })
    ids = joined(ids, completion.responseIds)
    sampled += completion.responseIds.length
    conversation.push(message)

    // A turn that was cut by a limit of the whole episode is its last; one that was cut at `turnTokens` goes on.
    if (completion.finishReason === 'length') {
      if (sampled >= sampling.maxNewTokens) return ended(key, turns, 'sampled-tokens')
      if (ids.length >= maxLength) return ended(key, turns, 'context')
    }
    if (calls + checked.length > limits.toolCalls) return ended(key, turns, 'tool-calls')
    calls += checked.length
    const results = await runCalls(checked, {
      key,
      turn,
      tools,
      tokenizer,
      journal,
      recorded,
      signal,
    })
    const spoken: AssistantTurn = {
      text: said.text,
      reasoning: said.reasoning,
      calls: checked,
      results: results.map(({ result }) => result),
      turn,
    }
    const stepped = checkedStep(await inTime('step', limited => session.step(spoken, limited)))
    turns[turn] = { ...made, reward: stepped.reward, toolSeconds: secondsOf(results) }
    if (stepped.kind === 'done') return ended(key, turns, 'done')
    if (results.some(({ result }) => result.stop)) return ended(key, turns, 'tool-stop')
    invalid = checked.length > 0 && checked.every(({ status }) => status !== 'ok') ? invalid + 1 : 0
    if (invalid >= limits.invalidCalls) return ended(key, turns, 'invalid-calls')

    const answers = results.map(({ result }, i) => resultOf(answeredCall(checked[i]!), result.content as string))
    added = [...answers, ...(stepped.messages ?? [])]
    if (added.length === 0) return ended(key, turns, 'answered')
    checkMessages('step', added)
    conversation.push(...added)
    const next = await Fault.at('template', () => following(world, { ids, conversation, added, completion, checked }))
    segment += next.kind === 'segment' ? 1 : 0
    observationIds = next.ids
    ids = next.kind === 'segment' ? next.ids : joined(ids, next.ids)
    if (ids.length >= maxLength) return ended(key, turns, 'context')
  }
}

/** The ids after a turn; a new segment if the template rewrote the conversation. */
async function following(
  { junctions, limits }: EpisodeWorld,
  turn: {
    readonly ids: Int32Array
    readonly conversation: readonly ChatMessage[]
    readonly added: readonly ChatMessage[]
    readonly completion: Completion
    readonly checked: readonly ToolCall[]
  },
): Promise<{ readonly kind: 'added' | 'segment'; readonly ids: Int32Array }> {
  const { ids, conversation, added, completion, checked } = turn
  if (limits.history === 'template') {
    const whole = await junctions.start(conversation)
    return startsWith(whole, ids) ? { kind: 'added', ids: whole.slice(ids.length) } : { kind: 'segment', ids: whole }
  }
  const lastId = completion.responseIds.at(-1)
  return { kind: 'added', ids: await junctions.next(added, { lastId, calls: checked.map(answeredCall) }) }
}

/** How often a turn is asked for again when the engine failed. The session does not notice. */
const turnRepeats = 2

/**
 * Faults of the engine are no faults of the environment. An engine that is away ends the rollout, and this episode goes on with its turns
 * when the run is resumed. A turn that failed for another reason is asked for again.
 */
async function sampleTurn(
  { turns, sampling, name }: EpisodeWorld,
  options: {
    readonly key: EpisodeKey
    readonly turn: number
    readonly ids: Int32Array
    readonly maxNewTokens: number
    readonly signal: AbortSignal
  },
): Promise<Completion> {
  const { key, turn, ids, maxNewTokens, signal } = options
  const { promptId, sample, attempt } = key
  const session = sessionName({ name }, key)
  for (let repeat = 0; ; repeat++) {
    const request = {
      id: repeat === 0 ? `${session}/${turn}` : `${session}/${turn} again ${repeat}`,
      promptIds: ids,
      // The first turn draws the random numbers of a sample without an environment; every other turn and attempt draws its own.
      promptId: turn + attempt === 0 ? promptId : `${promptId}/attempt ${attempt}/turn ${turn}`,
      firstSample: sample,
      sampling: { ...sampling, maxNewTokens, minNewTokens: Math.min(sampling.minNewTokens ?? 0, maxNewTokens) },
      session,
    }
    const outcome = await turns.sample(request, signal)
    if (outcome.kind === 'completed') {
      const { responseIds, logprobs, versions, policyVersion, finishReason } = outcome
      if (finishReason !== 'abort') return { responseIds, logprobs, versions, policyVersion, finishReason }
    } else if (outcome.reason === 'unreachable') throw new EngineLostError(outcome.message)
    // The same weights and numbers would fail in the same way.
    const repeatable = outcome.kind !== 'rejected' && !('reason' in outcome && outcome.reason === 'non-finite')
    if (repeatable && repeat < turnRepeats) continue
    throw new Fault(
      'generator',
      outcome.kind === 'completed' ? 'the engine cancelled the turn' : `${outcome.reason}: ${outcome.message}`,
    )
  }
}

async function scored(
  { limits }: EpisodeWorld,
  session: Session | AgentSession,
  outcome: { readonly kind: 'finished' | 'truncated'; readonly episode: Episode },
  signal: AbortSignal,
): Promise<EpisodeOutcome> {
  const { kind } = outcome
  if (kind === 'truncated' && limits.truncatedReward !== undefined) {
    const turns = outcome.episode.turns.map(turn => ({ ...turn, reward: undefined }))
    return { kind, episode: { ...outcome.episode, turns, reward: limits.truncatedReward } }
  }
  const episode = { ...outcome.episode, reward: sumOf(outcome.episode.turns.map(({ reward }) => reward)) }
  try {
    const milliseconds = limits.stepSeconds * 1000
    const score = await Fault.within({ at: 'step', what: 'score', milliseconds, signal }, async limited =>
      session.score?.(episode, limited),
    )
    if (score !== undefined && !Number.isFinite(score)) throw new Error(`score: expected a finite number, got ${score}`)
    return { kind, episode: { ...episode, reward: sumOf([episode.reward, score]) } }
  } catch (error) {
    signal.throwIfAborted()
    return { kind: 'unscorable', episode, message: messageOf(error) }
  }
}

/** Why a session could not be closed; undefined where it could. */
async function closed(session: Session | AgentSession | undefined, seconds: number): Promise<string | undefined> {
  if (!session) return undefined
  const { signal } = new AbortController()
  try {
    const limit = { at: 'step', what: 'close', milliseconds: seconds * 1000, signal } as const
    await Fault.within(limit, async () => session.close?.())
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

function withLeak(outcome: EpisodeOutcome, leak: string): EpisodeOutcome {
  if ('episode' in outcome) return { ...outcome, episode: { ...outcome.episode, leak } }
  return { ...outcome, message: `${outcome.message} (and the session could not be closed: ${leak})` }
}

function ended(
  key: EpisodeKey,
  turns: readonly Turn[],
  stop: Stop,
): EpisodeOutcome & { readonly kind: 'finished' | 'truncated' } {
  const kind = (limitNames as readonly string[]).includes(stop) ? 'truncated' : 'finished'
  return { kind, episode: { key, turns: [...turns], stop: stop as Stop & Limit, reward: undefined } }
}

function checkMessages(place: 'start' | 'step', messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages)) throw new Fault(place, `${place}: expected a list of messages`)
  const own = messages.find(({ role }) => role === 'assistant')
  if (own && place === 'step')
    throw new Fault(place, 'step: a message of the assistant; only the policy speaks as the assistant')
}

function checkedStep(given: StepResult): StepResult & { readonly messages?: readonly ChatMessage[] } {
  const { kind, reward } = (given ?? {}) as StepResult
  if (kind !== 'go-on' && kind !== 'done')
    throw new Fault('step', `step: expected { kind: 'go-on' } or { kind: 'done' }, got ${JSON.stringify(given)}`)
  if (reward !== undefined && !Number.isFinite(reward))
    throw new Fault('step', `step: expected a finite reward or none, got ${reward}`)
  return given
}

const sessionName = ({ name }: Pick<EpisodeWorld, 'name'>, { promptId, sample, attempt }: EpisodeKey): string =>
  `${name}/${promptId}/${sample}/${attempt}`

const secondsOf = (results: readonly CallResult[]): number => results.reduce((sum, { seconds }) => sum + seconds, 0)

function sumOf(rewards: readonly (number | undefined)[]): number | undefined {
  const given = rewards.filter(reward => reward !== undefined)
  return given.length === 0 ? undefined : given.reduce((sum, reward) => sum + reward, 0)
}

function joined(first: Int32Array, rest: Int32Array): Int32Array {
  const ids = new Int32Array(first.length + rest.length)
  ids.set(first)
  ids.set(rest, first.length)
  return ids
}
