/** A tiny vision-language model as people have it: weights, tokenizer, chat template and the files of its processor. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './files.js'
import { fixture, readCase } from './models.js'
import { templateFile, tokenizerPath } from './tokenizers.js'
import type { VisionCase, VisionName } from './vision-models.js'

const templateText = `{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% else %}<|vision_start|><|{{ part.type }}_pad|><|vision_end|>{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

/** A file of its own for each caller: the folders of a test file end with it. */
export const visionTemplate = (): Promise<string> => templateFile(templateText)

type Media = Record<string, { kind: 'image' | 'video'; file?: string; frames?: string[]; fps?: number }>

export interface VisionDirectory {
  readonly directory: string
  /** Where the pictures of the case lie. */
  readonly pictures: string
  readonly golden: Omit<VisionCase, 'rows'> & { media: Media; rows: (VisionCase['rows'][number] & { text: string })[] }
  /** A picture as clients send it. */
  dataUrl(file: string): string
  /** A prompt of the case, with one placeholder for each item. */
  once(row: number): number[]
  prompt(row: number): number[]
}

export function visionDirectory(name: VisionName): VisionDirectory {
  const directory = temporaryDirectory()
  for (const file of ['config.json', 'model.safetensors', 'preprocessor_config.json', 'video_preprocessor_config.json'])
    copyFileSync(join(fixture(name), file), join(directory, file))
  for (const file of ['tokenizer.json', 'tokenizer_config.json'])
    copyFileSync(join(tokenizerPath, file), join(directory, file))
  writeFileSync(join(directory, 'chat_template.jinja'), templateText)
  const pictures = fileURLToPath(new URL(`../fixtures/media/${name}`, import.meta.url))
  const golden = readCase<VisionDirectory['golden']>(name)
  const { '<|image_pad|>': image, '<|video_pad|>': video } = golden.token_ids
  const prompt = (row: number) => golden.rows[row]!.ids.slice(0, golden.rows[row]!.prompt_length)
  return {
    directory,
    pictures,
    golden,
    prompt,
    dataUrl: file =>
      `data:image/${file.endsWith('jpg') ? 'jpeg' : 'png'};base64,${readFileSync(join(pictures, file)).toString('base64')}`,
    once: row => prompt(row).filter((id, i, ids) => (id !== image && id !== video) || ids[i - 1] !== id),
  }
}
