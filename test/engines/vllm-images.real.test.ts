import { connectVllm } from '../../src/rollout/index.js'
import { describeImages } from './images.js'

const vllm = { type: 'vllm', connect: connectVllm, seeds: 'kept' } as const
const rate = ['--media-io-kwargs', '{"video":{"num_frames":-1,"fps":2}}']

describeImages({ ...vllm, family: 'qwen2_5_vl', refused: {}, updates: true })
// vLLM 0.32 keeps the old head of tied embeddings.
describeImages({ ...vllm, family: 'qwen2_vl', refused: {}, updates: false })
// Times are text of the prompt, and vLLM takes one frame rate for them.
describeImages({
  ...vllm,
  family: 'qwen3_vl',
  flags: rate,
  refused: { 5: 'takes 2 frames of a second' },
  updates: true,
})
