/** SGLang's own protocol (`/generate` and its control routes), tested with 0.5.23. */
import type { Dialect } from '../remote/dialect.js'
import { eventReader, readAnswer, refusalOf } from './answer.js'
import { abort, dtype, instance, isReady, marker, pause, resume, sleep, unload, update, wake } from './control.js'
import { inspect, probe } from './probe.js'
import { generationRequest } from './request.js'

export const sglangDialect: Dialect = {
  type: 'sglang',
  inspect,
  probe,
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
}
