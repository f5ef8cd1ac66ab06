/** Options of the engine that generates. */
import { z } from 'zod'
import { definitionOption, ownOptions } from '../../maths/index.js'
import { isGenerator } from '../run/define-generator.js'
import { path } from './common.js'

const serverUrl = z
  .string()
  .refine(
    text => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    'expected http:// or https:// and a host',
  )
  // Configs are copied into run directories and shown to people.
  .refine(
    text => !URL.canParse(text) || (new URL(text).username === '' && new URL(text).password === ''),
    'a URL must not contain a user or a password; put the key into an environment variable and name it in apiKeyEnv',
  )

const engineTypes = ['local', 'vllm', 'sglang'] as const
export type EngineType = (typeof engineTypes)[number]

const serverShape = {
  urls: z
    .array(serverUrl)
    .min(1)
    .optional()
    .describe('URLs of servers that serve the model (default: the run starts one server and stops it at its end)'),
  apiKeyEnv: z
    .string()
    .min(1)
    .optional()
    .describe('name of the environment variable that holds the API key of the servers'),
  servedModelName: z
    .string()
    .min(1)
    .optional()
    .describe('name of the model on the servers (default: the first model they list)'),
  maxInFlight: z
    .int()
    .min(1)
    .optional()
    .describe(
      'most samples that generate at the same time: per server (default 256), or in the local engine (default: on a GPU the whole rollout, between 256 and 1024 as memory allows; on a CPU 128)',
    ),
  requestMinutes: z.number().positive().max(10_000).default(30).describe('minutes before a request is cancelled'),
  patienceMinutes: z
    .number()
    .positive()
    .default(10)
    .describe('minutes without any reachable server before the run stops (resume continues it)'),
  weights: z
    .enum(['auto', 'directory', 'adapter'])
    .default('auto')
    .describe(
      'what the run sends to servers: directory (a whole checkpoint), adapter (the LoRA adapter only), or auto (the adapter if the run trains one)',
    ),
  weightsDirectory: path
    .optional()
    .describe(
      'directory where the run writes weights for the servers; the servers must be able to read it (default: weights in the run directory)',
    ),
  serverWeightsDirectory: z
    .string()
    .min(1)
    .optional()
    .describe('path of weightsDirectory on the machines of the servers, if it differs'),
  tolerance: z
    .number()
    .positive()
    .optional()
    .describe(
      'largest allowed mean difference between the log-probabilities of servers and trainer (default: what rounding explains)',
    ),
  command: z
    .string()
    .min(1)
    .optional()
    .describe('program of the server that the run starts (default: the one on the PATH)'),
  flags: z.array(z.string()).default([]).describe('more flags for the server that the run starts'),
}

export const serverSchema = z.object(serverShape)
export const localSchema = serverSchema.pick({ maxInFlight: true })

export const generatorSchema = z.strictObject({
  type: definitionOption(engineTypes, { what: 'a generator', accepts: isGenerator })
    .default('local')
    .describe(
      'which engine generates: local (in this process), servers of vLLM or SGLang, or a file with your own generator (defineGenerator)',
    ),
  options: z.record(z.string(), z.unknown()).optional().describe('options of your own generator'),
  ...serverShape,
})

export type GeneratorConfig = z.output<typeof generatorSchema>

/** Contradicting options. */
export function generatorOptionProblems(generator: GeneratorConfig): string[] {
  const problems: string[] = []
  const { type, options, ...given } = generator
  if (typeof type !== 'string')
    try {
      ownOptions(type, {}, options)
    } catch (error) {
      problems.push(`generator.options: ${(error as Error).message}`)
    }
  else if (options !== undefined)
    problems.push(`generator.options: only for your own generator, and generator.type is ${type}`)
  if (type === 'local' || typeof type !== 'string') {
    const usual = generatorSchema.parse({}) as Record<string, unknown>
    const known: readonly string[] = type === 'local' ? ['maxInFlight'] : ['weights', 'weightsDirectory']
    for (const [name, value] of Object.entries(given))
      if (!known.includes(name) && JSON.stringify(value) !== JSON.stringify(usual[name]))
        problems.push(
          `generator.${name}: only for servers, and generator.type is ${type === 'local' ? type : type.name}`,
        )
  } else if (generator.urls) {
    const hosts = generator.urls.map(url => new URL(url).href)
    const twice = hosts.findIndex((host, i) => hosts.indexOf(host) < i)
    if (twice >= 0) problems.push(`generator.urls: server ${twice + 1} is named twice`)
    if (generator.command !== undefined)
      problems.push('generator.command: only for a server that the run starts; remove it or urls')
    if (generator.flags.length > 0)
      problems.push('generator.flags: only for a server that the run starts; remove them or urls')
  }
  if (generator.serverWeightsDirectory !== undefined && generator.weightsDirectory === undefined)
    problems.push(
      'generator.serverWeightsDirectory: needs generator.weightsDirectory, the same directory on this machine',
    )
  return problems
}
