/** SGLang's own protocol (`/generate` and its control routes), tested with 0.5.23. */
import type { VisionConfig } from '../../decoder/index.js'
import type { Dialect } from '../remote/dialect.js'
import type { AudioConfig } from '../remote/sent-media.js'
import { eventReader, readAnswer, refusalOf } from './answer.js'
import { abort, dtype, instance, isReady, marker, pause, resume, sleep, unload, update, wake } from './control.js'
import { inspect, probe } from './probe.js'
import { generationRequest } from './request.js'

interface SglangOptions {
  /** Of a model that reads images, and of one that hears sounds: the probe finds out whether the server does too. */
  readonly vision?: VisionConfig | undefined
  readonly audio?: AudioConfig | undefined
}

export const sglangDialect = ({ vision, audio }: SglangOptions = {}): Dialect => ({
  type: 'sglang',
  inspect,
  probe: server => probe(server, { vision, audio }),
  isReady,
  generation: generationRequest,
  answer: readAnswer,
  reader: eventReader,
  refusal: refusalOf,
  abort,
  pause,
  resume,
  update,
  unload,
  marker,
  instance,
  dtype,
  sleep,
  wake,
})
