import { didYouMean } from '../errors/index.js'
import { configJsonSchema } from '../train/index.js'
import { configSchemas } from './configs.js'
import { UsageError } from './flags.js'

const names = Object.keys(configSchemas)

export const help = `Usage: whetstone schema ${names.join('|')}

Prints the JSON Schema of a config. With it an editor completes options and marks mistakes. In YAML, name the schema in the
first line:

  # yaml-language-server: $schema=sft.schema.json

In JSON, add an option "$schema".
`

export async function run([name, ...rest]: string[]): Promise<number> {
  const schema = name === undefined ? undefined : configSchemas[name]
  if (!schema || rest.length > 0)
    throw new UsageError(
      name === undefined || schema
        ? `expected one of ${names.join(', ')}`
        : `there is no config "${name}"; expected one of ${names.join(', ')}${didYouMean(name, names)}`,
    )
  process.stdout.write(`${JSON.stringify(configJsonSchema(schema, `whetstone ${name}`), undefined, 2)}\n`)
  return 0
}
