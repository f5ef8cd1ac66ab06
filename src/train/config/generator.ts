/** What a config says of the engine that generates. */
import { z } from 'zod'
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
    'a user and a password do not belong in a config; apiKeyEnv names the variable that holds a key',
  )

const engineTypes = ['local', 'vllm', 'sglang'] as const

export const generatorSchema = z.strictObject({
  type: z
    .enum(engineTypes)
    .default('local')
    .describe('what generates: the engine in this process, or servers of vLLM or SGLang'),
  urls: z
    .array(serverUrl)
    .min(1)
    .optional()
    .describe('servers of the model, one or several alike (default: one is started here and stopped with the run)'),
  apiKeyEnv: z.string().min(1).optional().describe("the environment variable that holds the servers' key"),
  servedModelName: z.string().min(1).optional().describe("the model's name on the servers (default: their first)"),
  maxInFlight: z
    .int()
    .min(1)
    .optional()
    .describe(
      'samples that generate at once: on each server (default 256), or in the local engine (default: on a GPU the whole rollout, from 256 up to 1024 as memory allows; on a CPU 128)',
    ),
  requestMinutes: z.number().positive().max(10_000).default(30).describe('a request that takes longer is given up'),
  patienceMinutes: z
    .number()
    .positive()
    .default(10)
    .describe('how long no server may be reachable before the run stops, to be resumed'),
  weights: z
    .enum(['auto', 'directory', 'adapter'])
    .default('auto')
    .describe('how servers get the weights: a checkpoint, or the adapter alone (auto: the adapter where there is one)'),
  weightsDirectory: path
    .optional()
    .describe('where weights for the servers are written, which must see it (default: weights in the run directory)'),
  serverWeightsDirectory: z
    .string()
    .min(1)
    .optional()
    .describe('the same directory as the servers see it, where it is mounted elsewhere'),
  tolerance: z
    .number()
    .positive()
    .optional()
    .describe(
      "largest mean difference between the servers' and the trainer's log-probabilities (default: what rounding explains)",
    ),
  command: z
    .string()
    .min(1)
    .optional()
    .describe('the program of a server that the run starts (default: as on the PATH)'),
  flags: z.array(z.string()).default([]).describe('further flags of a server that the run starts'),
})

export type GeneratorConfig = z.output<typeof generatorSchema>

/** What does not go together. */
export function generatorOptionProblems(generator: GeneratorConfig): string[] {
  const problems: string[] = []
  const { type, ...options } = generator
  if (type === 'local') {
    const usual = generatorSchema.parse({}) as Record<string, unknown>
    const { maxInFlight: _, ...forServers } = options
    for (const [name, value] of Object.entries(forServers))
      if (JSON.stringify(value) !== JSON.stringify(usual[name]))
        problems.push(`generator.${name}: is for servers, and generator.type is local`)
  } else if (generator.urls) {
    const hosts = generator.urls.map(url => new URL(url).href)
    const twice = hosts.findIndex((host, i) => hosts.indexOf(host) < i)
    if (twice >= 0) problems.push(`generator.urls: server ${twice + 1} is named twice`)
    if (generator.command !== undefined) problems.push('generator.command: is for a server that the run starts itself')
    if (generator.flags.length > 0) problems.push('generator.flags: are for a server that the run starts itself')
  }
  if (generator.serverWeightsDirectory !== undefined && generator.weightsDirectory === undefined)
    problems.push('generator.serverWeightsDirectory: says how servers see generator.weightsDirectory; give that too')
  return problems
}
