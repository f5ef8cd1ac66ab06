/** Everything that episodes share, checked before the first token: tools, the chat template, the format of calls. */
import { createHash } from 'node:crypto'
import { checkedOptions } from '../errors/index.js'
import type { Generator, SamplingParams } from '../rollout/index.js'
import { Junctions, type Tokenizer, toolFormatOf } from '../text/index.js'
import type { Environment } from './environment.js'
import { EnvironmentError } from './errors.js'
import type { EpisodeJournal } from './journal.js'
import { type EpisodeOptions, episodeSchema } from './limits.js'
import { Places } from './places.js'
import { ToolSets } from './recorder/tool-sets.js'
import type { EpisodeWorld } from './run-attempt.js'
import type { Tool } from './tool.js'
import { TurnSampler } from './turn-sampler.js'

/** What does not change during a run. */
export type EpisodeRules = Pick<
  EpisodeWorld,
  'environment' | 'tools' | 'tokenizer' | 'junctions' | 'toolSets' | 'format' | 'limits' | 'identity' | 'places'
>

interface RulesOptions {
  readonly environment: Environment
  readonly tokenizer: Tokenizer
  readonly limits?: EpisodeOptions
  /** The clock of the chat template. Default: now. */
  readonly now?: Date
}

/** Checks an environment with a tokenizer. An error says what to change. */
export async function episodeRules({
  environment,
  tokenizer,
  limits: given = {},
  now = new Date(),
}: RulesOptions): Promise<EpisodeRules> {
  const limits = checkedOptions('episode', episodeSchema, given)
  const { tools = [], name } = environment
  checkTools(tools)
  if (!tokenizer.hasChatTemplate)
    throw new EnvironmentError(
      `environment ${name}: the tokenizer has no chat template, and episodes are conversations; set chatTemplate`,
    )
  const schemas = tools.map(toolSchema)
  const template = tokenizer.templateSource(tools.length > 0 ? { tools: schemas } : {}) ?? ''
  const format = limits.toolFormat === 'auto' ? toolFormatOf(template) : limits.toolFormat
  const adds = environment.adds ?? (tools.length > 0 ? ['tool', 'user'] : ['user'])
  const history = limits.history === 'exact' ? 'exact' : 'append'
  const check = { adds, history, toolName: tools[0]?.name } as const
  const junctions = await Junctions.open({ tokenizer, now, ...(tools.length > 0 ? { tools: schemas } : {}) }, check)
  if (tools.length > 0 && !format)
    throw new EnvironmentError(
      `environment ${name}: it has tools, and the chat template does not say how calls are written; set episode.toolFormat to hermes, llama3 or mistral, or chatTemplate to chatml`,
    )
  const identity = { tools: hashOf(JSON.stringify(schemas)), template: hashOf(template) }
  const toolSets = new ToolSets({ tokenizer, limits, adds: environment.adds ?? ['tool', 'user'], now })
  const places = new Places(limits.concurrency)
  return { environment, tools, tokenizer, junctions, toolSets, format, limits, identity, places }
}

/** The world of one rollout. */
export function episodeWorld(
  rules: EpisodeRules,
  options: {
    readonly name: string
    /** Rollouts with a lower number get places first. Default 0. */
    readonly order?: number
    readonly generator: Generator
    readonly sampling: SamplingParams & { readonly maxNewTokens: number }
    readonly journal: EpisodeJournal | undefined
    readonly signal: AbortSignal
  },
): EpisodeWorld {
  const { name, order = 0, generator, sampling, journal, signal } = options
  const ends = [...rules.junctions.turnEndIds].filter(id => !rules.tokenizer.stopIds.includes(id))
  const stopIds = [...new Set([...(sampling.stopIds ?? []), ...ends])]
  return {
    ...rules,
    name,
    order,
    sampling: { ...sampling, stopIds },
    maxLength: generator.maxLength,
    turns: new TurnSampler(generator, signal),
    journal,
  }
}

/** A tool as chat templates take it. */
export function toolSchema({ name, description, parameters }: Tool): object {
  return { type: 'function', function: { name, description, parameters } }
}

const reserved = ['reset', 'step', 'state', 'close']

function checkTools(tools: readonly Tool[]): void {
  const names = new Set<string>()
  for (const { name, timeoutMs, maxResultTokens } of tools) {
    const refuse = (message: string): never => {
      throw new EnvironmentError(`tool ${JSON.stringify(name)}: ${message}`)
    }
    if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/.test(name))
      refuse('expected a name of letters, digits, _, - and ., at most 64')
    if (reserved.includes(name)) refuse(`the name is reserved; there are ${reserved.join(', ')}`)
    if (names.has(name)) refuse('there are two tools of this name; rename one')
    if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) refuse('timeoutMs: expected a number above 0')
    if (!Number.isInteger(maxResultTokens) || maxResultTokens < 1)
      refuse('maxResultTokens: expected a whole number of at least 1')
    names.add(name)
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
