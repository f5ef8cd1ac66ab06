import { describeGrpo } from './grpo.js'

describeGrpo('sglang')
