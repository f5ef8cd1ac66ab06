/** The `Modelfile` that Ollama makes a model from. */
import type { Vocabulary } from '../text/index.js'
import { type ChatFormat, chatFormatOf } from './chat-format.js'

interface ModelfileOptions {
  /** The GGUF file, beside the Modelfile. */
  readonly file: string
  readonly vocabulary: Vocabulary
  /** llama.cpp puts a bos before each text, so the template must not. */
  readonly addsBos: boolean
  /** Settings of `generation_config.json`. */
  readonly generation: Readonly<Record<string, unknown>>
}

export function modelfile({ file, vocabulary, addsBos, generation }: ModelfileOptions): string {
  const { tokenizer } = vocabulary
  const format = tokenizer.hasChatTemplate ? chatFormatOf(vocabulary) : undefined
  const template = format && goTemplate(format, addsBos ? (tokenizer.specialTokens.get('bos_token') ?? '') : '')
  const lines = [`FROM ./${file}`]
  if (template !== undefined) {
    lines.push(`TEMPLATE """${template}"""`)
    if (format?.defaultSystem !== undefined && !format.defaultSystem.includes('"""'))
      lines.push(`SYSTEM """${format.defaultSystem}"""`)
  } else if (tokenizer.hasChatTemplate) {
    lines.push(
      "# The chat template cannot be written in Ollama's template language.",
      '# Ollama reads the one in the GGUF file and takes the nearest of those that it knows. Check its answers.',
    )
  } else lines.push('# The model has no chat template: it continues texts.', 'TEMPLATE """{{ .Prompt }}"""')
  const stops = [...new Set(tokenizer.stopIds.flatMap(id => tokenizer.tokenOf(id) ?? []))]
  lines.push(...stops.map(stop => `PARAMETER stop ${JSON.stringify(stop)}`), ...samplingLines(generation))
  return `${lines.join('\n')}\n`
}

/**
 * In Go's template language. Ollama joins system messages in `.System`, and joins neighbours of one role, so that user and assistant
 * take turns. A conversation that ends with the assistant is to be continued there.
 */
function goTemplate({ start, system, toAssistant, toUser, continues }: ChatFormat, bos: string): string | undefined {
  const texts = [start, system?.before ?? '', system?.after ?? '', toAssistant, toUser, continues]
  if (texts.some(text => text.includes('{{') || text.includes('"""'))) return undefined
  const head = (text: string): string => (bos !== '' && text.startsWith(bos) ? text.slice(bos.length) : text)
  const opening = system
    ? `{{ if .System }}${head(system.before)}{{ .System }}${system.after}{{ else }}${head(start)}{{ end }}`
    : head(start)
  return (
    `${opening}{{ range $i, $_ := .Messages }}{{ $last := eq (len (slice $.Messages $i)) 1 }}` +
    `{{ if eq .Role "user" }}{{ .Content }}{{ if $last }}${continues}{{ end }}` +
    `{{ else if eq .Role "assistant" }}${toAssistant}{{ .Content }}{{ if not $last }}${toUser}{{ end }}{{ end }}{{ end }}`
  )
}

const parameters = { temperature: 'temperature', top_p: 'top_p', top_k: 'top_k', repetition_penalty: 'repeat_penalty' }

function samplingLines(generation: ModelfileOptions['generation']): string[] {
  if (generation.do_sample === false) return ['PARAMETER temperature 0']
  return Object.entries(parameters).flatMap(([name, own]) =>
    typeof generation[name] === 'number' ? [`PARAMETER ${own} ${generation[name]}`] : [],
  )
}
