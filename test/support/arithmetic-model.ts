/**
 * A tiny model that speaks in single characters: few tokens, short turns. A tool call is one token before the expression and one after it,
 * so that what has to be learnt is when to call and with what.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { initModel } from '../../src/model/index.js'
import { sftSchema } from '../../src/train/sft/config.js'
import { runSft } from '../../src/train/sft/job.js'
import { fresh, jsonl } from './files.js'
import { jobOf } from './supervised.js'
import { tinyConfig } from './tiny-model.js'

const characters = ['\n', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))]
const special = ['<|end|>', '<|pad|>', '<|user|>', '<|assistant|>', '<|tool|>']
const callStart = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "'
const callEnd = '"}}\n</tool_call>'
const vocabSize = characters.length + special.length + 2

const template = `{% if tools %}+{% endif %}{% for message in messages %}{{ '<|' + message.role + '|>' }}{% if message.tool_calls %}{% for call in message.tool_calls %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% else %}{{ message.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`

function tokenizerFolder(): string {
  const folder = fresh('characters')
  mkdirSync(folder)
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false }
  const added = [...special, callStart, callEnd].map((content, i) => ({
    ...{ id: characters.length + i, content, special: i < special.length },
    ...flags,
  }))
  const vocab = Object.fromEntries(characters.map((character, id) => [character, id]))
  const file = {
    version: '1.0',
    added_tokens: added,
    decoder: { type: 'Fuse' },
    model: { type: 'BPE', vocab, merges: [] },
  }
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(file))
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ eos_token: '<|end|>', pad_token: '<|pad|>' }))
  writeFileSync(join(folder, 'chat_template.jinja'), template)
  return folder
}

/** A model that an SFT has taught these conversations. */
export async function taughtModel(seed: number, rows: readonly object[], epochs: number): Promise<string> {
  const model = fresh('model')
  const shape = { hidden: 32, intermediate: 64, context: 128, vocabSize, initRange: 0.1 }
  const tokens = { bos: undefined, eos: characters.length, pad: characters.length + 1 }
  await initModel({
    ...{ config: tinyConfig('qwen2', shape), seed, dtype: 'float32', tokenizer: tokenizerFolder(), tokens, out: model },
  })
  const output = fresh('sft')
  const optimizer = { lr: 1e-2, schedule: 'constant', warmupRatio: 0 }
  const config = { model, data: jsonl(rows, 'form'), output, epochs, batchSize: 32, optimizer, seed, device: 'cpu' }
  await runSft(jobOf(sftSchema.parse({ ...config, saveSteps: 1000 })))
  return `${output}/final_model`
}
