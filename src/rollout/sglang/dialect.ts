/** SGLang's own protocol (`/generate` and its control routes), tested with 0.5.23. */
import type { VisionConfig } from '../../decoder/index.js'
import type { Dialect } from '../remote/dialect.js'
import { eventReader, readAnswer, refusalOf } from './answer.js'
import { abort, dtype, instance, isReady, marker, pause, resume, sleep, unload, update, wake } from './control.js'
import { inspect, probe } from './probe.js'
import { generationRequest } from './request.js'

/** `vision`: of a model that reads images; the probe finds out whether the server does too. */
export const sglangDialect = ({ vision }: { vision?: VisionConfig | undefined } = {}): Dialect => ({
  type: 'sglang',
  inspect,
  probe: server => probe(server, vision),
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
