/** The page of the docs that lists every field, made from the tables. */
import {
  abortFields,
  collectiveRpcFields,
  loadAdapterFields,
  reloadWeightsFields,
  unloadAdapterFields,
  weightVersionFields,
} from '../../src/serve/control/control-routes.js'
import {
  chatFields,
  completionFields,
  detokenizeFields,
  generateFields,
  samplingParamsFields,
  streamOptionsFields,
  tokenizeFields,
} from '../../src/serve/field-tables.js'
import type { FieldRule, FieldTable } from '../../src/serve/request-shape.js'

const sections: readonly (readonly [title: string, table: FieldTable])[] = [
  ['`POST /v1/completions`', completionFields],
  ['`POST /v1/chat/completions`', chatFields],
  ['`stream_options` of both', streamOptionsFields],
  ['`POST /inference/v1/generate`', generateFields],
  ['`sampling_params` of `/inference/v1/generate`', samplingParamsFields],
  ['`POST /tokenize`', tokenizeFields],
  ['`POST /detokenize`', detokenizeFields],
  ['`POST /collective_rpc`, with `--control`', collectiveRpcFields],
  ['`kwargs` of its `reload_weights`', reloadWeightsFields],
  ['`POST /update_weight_version`, with `--control`', weightVersionFields],
  ['`POST /abort_requests`, with `--control`', abortFields],
  ['`POST /v1/load_lora_adapter`, with `--enable-lora`', loadAdapterFields],
  ['`POST /v1/unload_lora_adapter`, with `--enable-lora`', unloadAdapterFields],
]

const intro = `# Fields of requests

OpenAI and vLLM publish the fields of their requests. The server treats each of them in one of three ways:

- *honoured*: the field has its effect
- *refused*: the field would change the answer in a way that this server cannot. The answer is a 400 that names the field. Values without an effect pass.
- *harmless*: the field is ignored; it never changes the answer

Any other field is refused as unknown. A field that is \`null\` counts as not given. This page is made from \`src/serve/field-tables.ts\`.
`

export function fieldsPage(): string {
  return [intro, ...sections.map(([title, table]) => section(title, table))].join('\n')
}

function section(title: string, table: FieldTable): string {
  const rows = (['honoured', 'refused', 'harmless'] as const).flatMap(kind =>
    Object.entries(table)
      .filter(([, rule]) => rule.kind === kind)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, rule]) => `| \`${name}\` | ${kind} | ${note(rule)} |`),
  )
  return `## ${title}\n\n| field | | |\n| --- | --- | --- |\n${rows.join('\n')}\n`
}

function note(rule: FieldRule): string {
  if (rule.kind !== 'refused' || rule.passes === '') return rule.note
  return `${rule.note}; passes: ${rule.passes}`
}
