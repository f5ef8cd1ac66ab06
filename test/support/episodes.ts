/** A small world for episodes: the fixture's tokenizer with the chat templates of model families, and an engine that follows a script. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type Environment,
  type EpisodeJournal,
  type EpisodeJournalRecord,
  type EpisodeOptions,
  type EpisodeOutcome,
  episodeRules,
  episodeWorld,
  runEpisode,
} from '../../src/environment/index.js'
import type { FailureReason, Generator, Outcome } from '../../src/rollout/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { ScriptedGenerator } from './doubles/scripted-generator.js'
import { tokenizerDirectory } from './tokenizers.js'

export const templateOf = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../fixtures/chat-templates/${name}.jinja`, import.meta.url)), 'utf8')

/** Special tokens of a family, by the beginning of the names of its templates. */
const families: Readonly<Record<string, { readonly tokens: readonly string[]; readonly named: object }>> = {
  llama3: {
    tokens: [
      '<|begin_of_text|>',
      '<|start_header_id|>',
      '<|end_header_id|>',
      '<|eot_id|>',
      '<|eom_id|>',
      '<|python_tag|>',
    ],
    named: { bos_token: '<|begin_of_text|>', eos_token: '<|eot_id|>' },
  },
  mistral: {
    tokens: [
      '<s>',
      '</s>',
      '[INST]',
      '[/INST]',
      '[TOOL_CALLS]',
      '[TOOL_RESULTS]',
      '[/TOOL_RESULTS]',
      '[AVAILABLE_TOOLS]',
      '[/AVAILABLE_TOOLS]',
    ],
    named: { bos_token: '<s>', eos_token: '</s>' },
  },
}

/** The fixture's tokenizer as one of a family: its chat template, and the special tokens that the template writes. */
export async function familyTokenizer(template: string): Promise<Tokenizer> {
  return Tokenizer.load(await familyDirectory(template))
}

export function familyDirectory(template: string): Promise<string> {
  const family = Object.entries(families).find(([name]) => template.startsWith(name))?.[1]
  const own = { bos_token: null, eos_token: '<|im_end|>', pad_token: '<|endoftext|>', ...family?.named }
  const config = { ...own, extra_special_tokens: family?.tokens ?? ['<|im_start|>'] }
  return tokenizerDirectory({ 'tokenizer_config.json': config, 'chat_template.jinja': templateOf(template) })
}

/** Says one of `turns` after another, each as text that ends with the token of the turn's end; `cut`: without it. */
export type ScriptedTurn = string | { readonly text: string; readonly end: 'cut' }

/** Records in memory. */
export class MemoryJournal implements EpisodeJournal {
  readonly records: EpisodeJournalRecord[] = []
  episodeRecords({ promptId, sample }: { promptId: string; sample: number }): readonly EpisodeJournalRecord[] {
    return this.records.filter(one => one.promptId === promptId && one.sample === sample)
  }
  async keepEpisode(record: EpisodeJournalRecord): Promise<void> {
    this.records.push(structuredClone(record))
  }
}

export interface ScriptedEpisode {
  readonly outcome: EpisodeOutcome
  /** What the engine was asked with, in order. */
  readonly prompts: readonly Int32Array[]
  /** What the random numbers of each request come from. */
  readonly streams: readonly string[]
  readonly released: readonly string[]
}

/** Runs one episode in which the policy says these turns. */
export async function scriptedEpisode(options: {
  readonly environment: Environment
  readonly turns: readonly ScriptedTurn[]
  readonly template?: string
  readonly tokenizer?: Tokenizer
  readonly limits?: EpisodeOptions
  readonly maxNewTokens?: number
  readonly maxLength?: number
  readonly journal?: EpisodeJournal
  readonly signal?: AbortSignal
  readonly row?: Record<string, unknown>
  readonly messages?: readonly { role: string; content: string }[]
  /** What is wrong with the engine at its n-th request, from 0. */
  readonly engine?: (request: number) => FailureReason | 'abort' | undefined
}): Promise<ScriptedEpisode> {
  const { environment, turns, limits = {}, maxNewTokens = 4000, journal } = options
  const tokenizer = options.tokenizer ?? (await familyTokenizer(options.template ?? 'qwen2_5'))
  const now = new Date('2026-01-02T03:04:05Z')
  const rules = await episodeRules({ environment, tokenizer, limits, now })
  const [end] = [...rules.junctions.turnEndIds]
  const said = await Promise.all(
    turns.map(async turn => {
      const text = typeof turn === 'string' ? turn : turn.text
      const ids = await tokenizer.encode(text, { addSpecialTokens: false })
      return typeof turn === 'string' ? [...ids, end!] : [...ids]
    }),
  )
  const prompts: Int32Array[] = []
  let [failed, requests] = [0, 0]
  const released: string[] = []
  const streams: string[] = []
  const scripted = new ScriptedGenerator(promptIds => {
    prompts.push(promptIds)
    return said[prompts.length - 1 - failed] ?? [end!]
  }, tokenizer.vocabSize)
  const { generate } = scripted
  const generator: Generator = Object.assign(scripted, {
    maxLength: options.maxLength ?? 4096,
    async *generate(...given: Parameters<Generator['generate']>): AsyncGenerator<Outcome> {
      for await (const outcome of generate.apply(scripted, given)) {
        streams.push(`${outcome.promptId} ${outcome.sample}`)
        const wrong = options.engine?.(requests++)
        if (wrong !== undefined) failed++
        if (wrong === undefined || outcome.kind !== 'completed') yield outcome
        else if (wrong === 'abort') yield { ...outcome, finishReason: 'abort' }
        else {
          const { requestId, promptId, sample, seed } = outcome
          yield { kind: 'failed', requestId, promptId, sample, seed, reason: wrong, message: 'the engine is ill' }
        }
      }
    },
    release: (session: string) => void released.push(session),
  })
  const signal = options.signal ?? new AbortController().signal
  const sampling = { seed: 3, maxNewTokens }
  const world = episodeWorld(rules, { name: 'test', generator, sampling, journal, signal })
  const task = { row: options.row ?? {}, messages: options.messages ?? [], label: undefined, target: undefined }
  try {
    const outcome = await runEpisode(world, { task, promptId: 'row', sample: 0 }, signal)
    return { outcome, prompts, streams, released }
  } finally {
    await world.turns.close()
  }
}
