import { connectVllm } from '../../src/rollout/index.js'
import { describeImages } from './images.js'

describeImages({ type: 'vllm', connect: connectVllm, seeds: 'kept' })
