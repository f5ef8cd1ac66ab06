import { describeVisionGrpo } from './vision-grpo.js'

describeVisionGrpo({ type: 'sglang', videos: 'refused' })
