import { describeGrpo } from './grpo.js'

describeGrpo('vllm')
