/** A small world for experiences: random models that share the fixtures' tokenizer, and an engine over the actor. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../../src/decoder/index.js'
import { FastExperienceMaker, type FastExperienceMakerOptions } from '../../src/experience/index.js'
import { LocalModel, type Role } from '../../src/model/index.js'
import { sampleReward } from '../../src/reward/index.js'
import { LocalEngine, type LocalEngineOptions } from '../../src/rollout/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { atEnd } from './at-end.js'

export const tokenizerPath = new URL('../fixtures/tokenizer/', import.meta.url).pathname
export const tokenizer = await Tokenizer.load(tokenizerPath)

/**
 * The same tokenizer as Llama's are made: it adds a bos itself, and so does its chat template. `withoutChatTokens`: as that of a base
 * model, which has neither a template nor the tokens of ChatML.
 */
export async function llamaStyle({
  withoutChatTokens = false,
  eos = 'named',
}: {
  withoutChatTokens?: boolean
  eos?: 'named' | 'none'
} = {}): Promise<Tokenizer> {
  const folder = mkdtempSync(join(tmpdir(), 'whetstone-llama-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const bos = '<|endoftext|>'
  let text = readFileSync(join(tokenizerPath, 'tokenizer.json'), 'utf8')
  if (withoutChatTokens) text = text.replaceAll('<|im_start|>', '<|start|>').replaceAll('<|im_end|>', '<|eos|>')
  const file = JSON.parse(text) as Record<string, unknown>
  const special = { SpecialToken: { id: bos, type_id: 0 } }
  const first = { Sequence: { id: 'A', type_id: 0 } }
  file.post_processor = {
    type: 'TemplateProcessing',
    single: [special, first],
    pair: [special, first, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: { [bos]: { id: bos, ids: [tokenizer.idOf(bos)], tokens: [bos] } },
  }
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(file))
  const template =
    '{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}'
  const config = {
    bos_token: bos,
    ...(eos === 'none' ? {} : { eos_token: withoutChatTokens ? '<|eos|>' : '<|im_end|>' }),
    ...(withoutChatTokens ? {} : { chat_template: template }),
  }
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config))
  return Tokenizer.load(folder)
}

export async function makeModel<R extends Role>(
  role: R,
  options: { seed?: number; adapter?: boolean; context?: number } = {},
): Promise<LocalModel<R>> {
  const config = parseConfig(
    {
      architectures: ['Qwen2ForCausalLM'],
      vocab_size: tokenizer.vocabSize,
      hidden_size: 32,
      intermediate_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      max_position_embeddings: options.context ?? 128,
      tie_word_embeddings: true,
      use_sliding_window: false,
      initializer_range: 0.2,
    },
    'config.json',
  )
  const adapter = options.adapter
    ? { adapter: { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj', 'v_proj'] as const, seed: 3 } }
    : {}
  const model = await LocalModel.create(config, { role, seed: options.seed ?? 5, ...adapter })
  atEnd(() => model.dispose())
  return model
}

export function engineOver(
  actor: LocalModel<'language'>,
  options: Omit<LocalEngineOptions, 'tokenizer'> = {},
): LocalEngine {
  const engine = new LocalEngine(actor, { tokenizer, ...options })
  atEnd(() => engine.close())
  return engine
}

/** Says something about the text that differs between samples. */
export const lengthReward = sampleReward(({ response }) => response.length, { name: 'length' })

type Given = Partial<FastExperienceMakerOptions>

/** A maker over models of its own, unless they are given. */
export async function makeMaker(options: Given = {}): Promise<FastExperienceMaker> {
  const actor = (options.actor as LocalModel<'language'> | undefined) ?? (await makeModel('language'))
  const rewarded = ['sources', 'rewardModel', 'rewardFn', 'customRewardFunc', 'remoteRmUrl'].some(
    name => name in options,
  )
  return new FastExperienceMaker({
    tokenizer,
    generator: options.generator ?? engineOver(actor),
    ...(rewarded ? {} : { sources: [lengthReward] }),
    advantageEstimator: 'reinforce',
    maxNewTokens: 12,
    ...options,
    actor,
  })
}

export const prompts = ['Hello there', 'What is two and two?', 'A', 'The quick brown fox jumps']
