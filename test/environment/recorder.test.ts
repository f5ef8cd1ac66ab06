/** Agents that own the loop: what they ask becomes the same episode that the runner makes. */
import { describe, expect, test } from 'vitest'
import {
  type AgentSession,
  type ChatRequest,
  calculator,
  type Environment,
  type EpisodeOutcome,
  episodeSequences,
  type Policy,
  toolEnvironment,
  toolSchema,
} from '../../src/environment/index.js'
import { trainedCount } from '../../src/sequence/index.js'
import type { ChatMessage, Tokenizer } from '../../src/text/index.js'
import { familyTokenizer, MemoryJournal, scriptedEpisode } from '../support/episodes.js'

const tokenizer: Tokenizer = await familyTokenizer('qwen2_5')
const tools = [toolSchema(calculator)]
const call = (expression: string): string =>
  `<tool_call>\n${JSON.stringify({ name: 'calculator', arguments: { expression } })}\n</tool_call>`
const user = (content: string): ChatMessage => ({ role: 'user', content })

const agentOf = (run: AgentSession['run'], rest: Partial<AgentSession> = {}): Environment => ({
  name: 'agent',
  version: '1',
  open: async () => ({ run, ...rest }),
})

/** Asks and takes the first answer, as a client does. */
async function ask(policy: Policy, request: ChatRequest): Promise<ChatMessage> {
  const answer = await policy.chat(request)
  answer.delivered()
  return JSON.parse(JSON.stringify(answer.choices[0]!.message)) as ChatMessage
}

/** A loop with tools: the history is sent again as the client has it, and calls are answered by `calculator`. */
async function loop(policy: Policy, messages: ChatMessage[]): Promise<ChatMessage[]> {
  for (;;) {
    const said = await ask(policy, { messages, tools })
    messages.push(said)
    const calls = (said.tool_calls ?? []) as { id: string; function: { arguments: string } }[]
    if (calls.length === 0) return messages
    for (const {
      id,
      function: { arguments: text },
    } of calls) {
      const context = { id, episode: { promptId: '', sample: 0, attempt: 0 }, signal: new AbortController().signal }
      messages.push({
        role: 'tool',
        tool_call_id: id,
        content: String(await calculator.run(JSON.parse(text), context)),
      })
    }
  }
}

function episodeOf(outcome: EpisodeOutcome) {
  if (!('episode' in outcome)) throw new Error(JSON.stringify(outcome))
  return outcome.episode
}

const sequencesOf = (outcome: EpisodeOutcome) =>
  episodeSequences(episodeOf(outcome), { promptId: 'row', row: {} }).map(sequence => ({
    ids: [...sequence.ids],
    origin: [...sequence.origin],
    trained: trainedCount(sequence),
  }))

describe('an agent with the same conversation', () => {
  for (const template of ['qwen2_5', 'llama3_1', 'mistral', 'smollm2'])
    test(`gives the ids, masks and numbers of the runner (${template})`, async () => {
      const own = await familyTokenizer(template)
      const write = { llama3_1: llama, mistral }[template] ?? call
      const turns = template === 'smollm2' ? ['Four.'] : [write('2 + 2'), write('4 * 4'), 'It is 16.']
      const offered = template === 'smollm2' ? [] : [calculator]
      const ofRunner = await scriptedEpisode({
        messages: [{ role: 'user', content: 'What?' }],
        tokenizer: own,
        environment: toolEnvironment({ tools: offered, reward: () => 1 }),
        turns,
      })
      const environment = agentOf(async policy => {
        if (offered.length === 0) await ask(policy, { messages: [user('What?')] })
        else await loop(policy, [user('What?')])
        return { reward: 1 }
      })
      const ofAgent = await scriptedEpisode({ tokenizer: own, environment, turns })
      expect(sequencesOf(ofAgent.outcome)).toEqual(sequencesOf(ofRunner.outcome))
      expect(ofAgent.outcome).toMatchObject({ kind: 'finished', episode: { reward: 1, sideCalls: 0 } })
      const seen = (outcome: EpisodeOutcome) =>
        episodeOf(outcome).turns.map(({ text, completion, segment, calls }) => ({
          ...{ text, completion, segment },
          calls: calls.map(({ name, status, argumentsText }) => ({ name, status, argumentsText })),
        }))
      expect(seen(ofAgent.outcome)).toEqual(seen(ofRunner.outcome))
      // Each prompt begins with the one before and its answer.
      for (const [i, prompt] of ofAgent.prompts.entries())
        if (i > 0) expect([...prompt].slice(0, ofAgent.prompts[i - 1]!.length)).toEqual([...ofAgent.prompts[i - 1]!])
    })
})

function llama(expression: string): string {
  return JSON.stringify({ name: 'calculator', parameters: { expression } })
}
function mistral(expression: string): string {
  return `[TOOL_CALLS] ${JSON.stringify([{ name: 'calculator', arguments: { expression } }])}`
}

describe('what agents do with histories', () => {
  test('an edited history starts a new segment, and no token is trained twice', async () => {
    const environment = agentOf(async policy => {
      const messages = await loop(policy, [user('What?')])
      const edited = messages.map(one => (one.role === 'tool' ? { ...one, content: '[cut]' } : one))
      await loop(policy, [...edited, user('Sure?')])
      return { reward: 0.5 }
    })
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: [call('1+1'), 'Two.', 'Yes.'] })
    const episode = episodeOf(outcome)
    expect(episode.turns.map(({ segment, text }) => [segment, text])).toEqual([
      [0, ''],
      [0, 'Two.'],
      [1, 'Yes.'],
    ])
    expect(episode.sideCalls).toBe(0)
    // The new segment says only what was added to the conversation.
    expect(episode.turns[2]!.messages).toEqual([user('Sure?')])
    const sampled = episode.turns.reduce((sum, turn) => sum + turn.length, 0)
    expect(sequencesOf(outcome).reduce((sum, { trained }) => sum + trained, 0)).toBe(sampled)
  })

  test('clients write history in their own way: parts, null, spaces in JSON', async () => {
    const environment = agentOf(async policy => {
      const first = await ask(policy, { messages: [user('What?')], tools })
      const [made] = first.tool_calls as { id: string; function: { name: string; arguments: string } }[]
      const spaced = JSON.stringify(JSON.parse(made!.function.arguments), undefined, 2)
      const again = { role: 'assistant', tool_calls: [{ ...made, function: { ...made!.function, arguments: spaced } }] }
      const content = [{ type: 'text', text: '2' }]
      const result = { role: 'tool', tool_call_id: made!.id, content }
      await ask(policy, {
        messages: [{ role: 'user', content: [{ type: 'text', text: 'What?' }] }, again, result],
        tools,
      })
      return {}
    })
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: [call('1+1'), 'Two.'] })
    expect(episodeOf(outcome).turns.map(({ segment }) => segment)).toEqual([0, 0])
  })

  test('side calls are not trained: titles, branches, helpers, choices that were not taken', async () => {
    const environment = agentOf(async policy => {
      await ask(policy, { messages: [user('A title for: What?')] })
      const { choices, delivered } = await policy.chat({ messages: [user('What?')], tools, n: 2 })
      delivered()
      const taken = choices[1]!.message
      // A helper of two turns, in the middle of the agent's own.
      const helper = [user('Help.'), await ask(policy, { messages: [user('Help.')] })]
      await ask(policy, { messages: [...helper, user('More.')] })
      const messages = [user('What?'), taken, user('Go on.')]
      await ask(policy, { messages, tools })
      // Asked again from there: the first answer is left behind.
      const last = await ask(policy, { messages, tools })
      await ask(policy, { messages: [...messages, last, user('And?')], tools })
      await ask(policy, { messages: [user('Sum up.')] })
      return { reward: 1 }
    })
    const turns = ['Title.', 'No.', 'Yes.', 'h1', 'h2', 'left', 'kept', 'end', 'sum']
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns })
    const episode = episodeOf(outcome)
    expect(episode.turns.map(({ text }) => text)).toEqual(['Yes.', 'kept', 'end'])
    expect(episode.sideCalls).toBe(6)
    expect(sequencesOf(outcome)).toHaveLength(1)
  })

  test('the same request again: an answer that was lost is given again, one that was heard is not', async () => {
    const environment = agentOf(async policy => {
      const request = { messages: [user('What?')] }
      const lost = await policy.chat(request)
      const again = await policy.chat(request)
      expect(again.choices).toEqual(lost.choices)
      again.delivered()
      expect((await policy.chat({ ...request, isRepeated: true })).choices).toEqual(lost.choices)
      const other = await policy.chat(request)
      other.delivered()
      expect(other.choices[0]!.message.content).toBe('Two.')
      const named = await policy.chat({ messages: [user('x')], idempotencyKey: 'k' })
      expect((await policy.chat({ messages: [user('x')], idempotencyKey: 'k' })).choices).toEqual(named.choices)
      return {}
    })
    const { outcome, prompts } = await scriptedEpisode({ tokenizer, environment, turns: ['One.', 'Two.', 'Three.'] })
    expect(prompts).toHaveLength(3)
    // Both were heard, none was continued: the later one. The third was never delivered.
    expect(episodeOf(outcome).turns.map(({ text }) => text)).toEqual(['Two.'])
  })

  test('a turn of the assistant that the policy did not say is not trained', async () => {
    const environment = agentOf(async policy => {
      const said = await ask(policy, { messages: [user('What?')] })
      const invented = { role: 'assistant', content: 'Never said.' }
      await ask(policy, { messages: [user('What?'), said, user('?'), invented, user('Go.')] })
      return {}
    })
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: ['One.', 'Two.'] })
    expect(episodeOf(outcome).turns.map(({ segment, text }) => [segment, text])).toEqual([
      [0, 'One.'],
      [1, 'Two.'],
    ])
    const trained = sequencesOf(outcome).reduce((sum, one) => sum + one.trained, 0)
    expect(trained).toBe(episodeOf(outcome).turns.reduce((sum, { length }) => sum + length, 0))
  })
})

describe('limits and faults', () => {
  test('a limit is told to the agent, and the episode is truncated; what it still gives counts', async () => {
    const environment = agentOf(async policy => {
      const error = await loop(policy, [user('What?')]).catch(one => one)
      expect(error).toMatchObject({ name: 'PolicyError', reason: 'limit' })
      return { reward: 0.25 }
    })
    const turns = Array.from({ length: 9 }, (_, i) => call(`${i}`))
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns, limits: { turns: 3 } })
    expect(outcome).toMatchObject({ kind: 'truncated', episode: { stop: 'turns', reward: 0.25 } })
    expect(episodeOf(outcome).turns).toHaveLength(3)
  })

  test('an agent that ignores limits, hangs or floods is ended', async () => {
    const hanging = agentOf(async (policy, signal) => {
      await ask(policy, { messages: [user('What?')] })
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return {}
    })
    const hung = await scriptedEpisode({ tokenizer, environment: hanging, turns: ['One.'], limits: { seconds: 0.2 } })
    expect(hung.outcome).toMatchObject({ kind: 'truncated', episode: { stop: 'time' } })
    const flooding = agentOf(async (policy, signal) => {
      while (!signal.aborted)
        await ask(policy, { messages: [user('What?')] }).catch(() => new Promise(r => setTimeout(r, 5)))
      return {}
    })
    const limits = { turns: 2, stepSeconds: 0.1 }
    const flooded = await scriptedEpisode({ tokenizer, environment: flooding, turns: [], limits })
    expect(flooded.outcome).toMatchObject({ kind: 'truncated', episode: { stop: 'turns' } })
    expect(flooded.prompts).toHaveLength(16)
  })

  test('a crash is a failed attempt, also before the first call; retries run it whole', async () => {
    let runs = 0
    const environment = agentOf(async policy => {
      if (++runs === 1) throw new Error('no memory')
      if (runs === 2) return {}
      await ask(policy, { messages: [user('What?')] })
      return { reward: 1 }
    })
    const journal = new MemoryJournal()
    const { outcome, released } = await scriptedEpisode({ tokenizer, environment, turns: ['One.'], journal })
    expect(outcome).toMatchObject({ kind: 'finished', episode: { key: { attempt: 2 }, reward: 1 } })
    const failures = journal.records.flatMap(one => (one.kind === 'attempt-failed' ? [one.message] : []))
    expect(failures).toEqual(['the agent agent: no memory', 'the agent agent ended without a turn of the policy'])
    expect(released).toContain('test/row/0/2/0')
  })

  test('a finished episode is read from the journal; a killed one starts whole, as its effect says', async () => {
    let runs = 0
    const run: AgentSession['run'] = async policy => {
      runs++
      await loop(policy, [user('What?')])
      return { reward: 1 }
    }
    const journal = new MemoryJournal()
    const turns = [call('1+1'), 'Two.']
    const whole = await scriptedEpisode({ tokenizer, environment: agentOf(run), turns, journal })
    const again = await scriptedEpisode({ tokenizer, environment: agentOf(run), turns, journal })
    expect(again.outcome).toEqual(whole.outcome)
    expect(runs).toBe(1)
    for (const [effect, attempt] of [
      ['once', 1],
      ['idempotent', 0],
    ] as const)
      for (let kept = 1; kept < journal.records.length; kept++) {
        const cut = new MemoryJournal()
        await scriptedEpisode({ tokenizer, environment: agentOf(run, { effect }), turns, journal: cut })
        cut.records.splice(kept)
        const resumed = await scriptedEpisode({ tokenizer, environment: agentOf(run, { effect }), turns, journal: cut })
        const started = kept === 1 ? 0 : attempt
        expect(episodeOf(resumed.outcome)).toMatchObject({ key: { attempt: started }, reward: 1 })
        expect(sequencesOf(resumed.outcome)).toEqual(sequencesOf(whole.outcome))
      }
  })

  test('a request that the template cannot write is told; the agent may ask another', async () => {
    const environment = agentOf(async policy => {
      const wrong = [{ role: 'nobody', content: 'x' }]
      await expect(policy.chat({ messages: wrong })).rejects.toMatchObject({ reason: 'request' })
      await expect(policy.chat({ messages: [user('x')], tools: [{ type: 'x' }] })).rejects.toMatchObject({
        reason: 'request',
      })
      await expect(policy.chat({ messages: [user('x')], n: 99 })).rejects.toMatchObject({ reason: 'request' })
      await ask(policy, { messages: [user('What?')] })
      return {}
    })
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: ['One.'] })
    expect(outcome.kind).toBe('finished')
  })
})
