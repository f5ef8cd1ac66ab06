import { connectSglang } from '../../src/rollout/index.js'
import { describeImages } from './images.js'

const videos = { 4: 'takes videos only as files', 5: 'takes videos only as files' }
const sglang = { type: 'sglang', connect: connectSglang, seeds: 'ignored', refused: videos, updates: true } as const

describeImages({ ...sglang, family: 'qwen2_5_vl' })
describeImages({ ...sglang, family: 'qwen3_vl' })
