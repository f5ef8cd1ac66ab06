import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LocalModel, parseConfig } from '../../src/model/index.js'
import { Tokenizer } from '../../src/text/index.js'

const tokenizerPath = new URL('../fixtures/tokenizer/', import.meta.url).pathname

/** A model directory with random weights and a tokenizer with a chat template. */
export async function tinyModel(): Promise<{ directory: string; tokenizer: Tokenizer; remove: () => void }> {
  const directory = mkdtempSync(join(tmpdir(), 'whetstone-tiny-'))
  const tokenizer = await Tokenizer.load(tokenizerPath)
  const config = {
    architectures: ['Qwen2ForCausalLM'],
    vocab_size: tokenizer.vocabSize,
    hidden_size: 64,
    intermediate_size: 128,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    max_position_embeddings: 256,
    tie_word_embeddings: true,
    use_sliding_window: false,
    initializer_range: 0.15,
    eos_token_id: tokenizer.eosId ?? 2,
  }
  const model = await LocalModel.create(parseConfig(config, 'config.json'), { role: 'language', seed: 5 })
  await model.export(directory, { what: 'model' })
  model.dispose()
  for (const name of readdirSync(tokenizerPath))
    if (/^(tokenizer|chat_template)/.test(name)) copyFileSync(join(tokenizerPath, name), join(directory, name))
  return { directory, tokenizer, remove: () => rmSync(directory, { recursive: true, force: true }) }
}
