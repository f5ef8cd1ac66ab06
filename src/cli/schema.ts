import { didYouMean } from '../errors/index.js'
import { configJsonSchema } from '../train/index.js'
import { configSchemas } from './configs.js'
import { UsageError } from './flags.js'

const names = Object.keys(configSchemas)

export const help = `Usage: whetstone schema ${names.join('|')}

Prints the JSON Schema of a training's config. An editor that is told where it is completes options and marks mistakes; in YAML
by a first line such as

  # yaml-language-server: $schema=sft.schema.json

and in JSON by an option "$schema".
`

export async function run([name, ...rest]: string[]): Promise<number> {
  const schema = name === undefined ? undefined : configSchemas[name]
  if (!schema || rest.length > 0)
    throw new UsageError(
      name === undefined || schema
        ? `expected one of ${names.join(', ')}`
        : `there is no config of "${name}"; expected one of ${names.join(', ')}${didYouMean(name, names)}`,
    )
  process.stdout.write(`${JSON.stringify(configJsonSchema(schema, `whetstone ${name}`), undefined, 2)}\n`)
  return 0
}
