import { connectSglang } from '../../src/rollout/index.js'
import { describeImages } from './images.js'

describeImages({ type: 'sglang', connect: connectSglang, seeds: 'ignored' })
