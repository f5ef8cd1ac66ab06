import { describeVisionGrpo } from './vision-grpo.js'

describeVisionGrpo({ type: 'vllm', videos: 'taken' })
