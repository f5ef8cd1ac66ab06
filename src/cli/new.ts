/** `whetstone new grpo`: a config with comments. */
import { writeFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { z } from 'zod'
import { didYouMean, InputError, isSystemError, systemProblem } from '../errors/index.js'
import type { RawConfig } from '../train/index.js'
import { commentedConfig } from './commented-config.js'
import { readConfigFlags } from './config-flags.js'
import { type ConfigKind, configKind, configKinds } from './configs.js'
import { UsageError } from './flags.js'
import { shellWord } from './train-command.js'

export const help = `Usage: whetstone new KIND [FILE] [options]

Writes a config with comments: the required options, the common ones with their defaults, and all others commented out. The default of
FILE is KIND.yaml; - is standard output. An existing file is never overwritten. Options that are given as flags are written into the config:

  whetstone new grpo --model model --data prompts.jsonl --rewards reward.ts --output runs/grpo
  whetstone grpo --config grpo.yaml

Kinds: ${configKinds.join(', ')}
`

export async function run([kind, ...rest]: string[]): Promise<number> {
  const found = kind === undefined ? undefined : configKind(kind)
  if (!found)
    throw new UsageError(
      kind === undefined || kind.startsWith('-')
        ? `expected a kind of config: ${configKinds.join(', ')}`
        : `there is no config "${kind}"${didYouMean(kind, configKinds)}; there are: ${configKinds.join(', ')}`,
    )
  const named = rest[0] !== undefined && !/^-./.test(rest[0])
  const [given, args] = named ? [rest[0], rest.slice(1)] : [undefined, rest]
  const file = given ?? `${found.kind}.yaml`
  if (file !== '-' && !/\.ya?ml$/i.test(file)) throw new UsageError(`${file}: expected a name that ends with .yaml`)
  const { layer } = readConfigFlags(args, z.object({}), found)
  const text = newConfigText(found, layer.values, file)
  if (file === '-') {
    process.stdout.write(text)
    return 0
  }
  await writeNew(file, text)
  const command = `whetstone ${found.verb} --config ${shellWord(file)}`
  console.log(`${file}: a config of ${found.verb}. Check its paths, then:\n  ${command} --dry-run\n  ${command}`)
  return 0
}

/** What the file holds. */
export function newConfigText(found: ConfigKind, flags: RawConfig, file: string): string {
  const { verb, schema, preset, common, page } = found
  const values = {
    ...(parse(found.example) as RawConfig),
    ...found.set,
    ...flags,
  }
  return `# whetstone ${verb} --config ${shellWord(file)}
# Paths are relative to this file. ${page} explains the options.

${commentedConfig({ schema, values, preset, common })}
`
}

/** Never in the place of another file. */
async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((cause: unknown) => {
    if (!isSystemError(cause)) throw cause
    const problem = cause.code === 'EEXIST' ? 'already exists; give another name, or remove it' : undefined
    throw new InputError(`${file}: ${problem ?? systemProblem(cause, 'write')}`, { cause })
  })
}
