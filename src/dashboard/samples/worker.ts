/** The thread of an index: questions in, answers out. */
import { parentPort, workerData } from 'node:worker_threads'
import { RequestError } from '../errors.js'
import { IndexAnswers } from './answers.js'
import type { Answered, Asked } from './service.js'

const answers = IndexAnswers.open(workerData as string)
answers.catch(() => {})

parentPort!.on('message', (message: Asked | 'close') => {
  if (message === 'close')
    void answers
      .then(one => one.close())
      .catch(() => {})
      .then(() => process.exit())
  else void answer(message).then(answered => parentPort!.postMessage(answered))
})

async function answer({ id, name, asked }: Asked): Promise<Answered> {
  try {
    return { id, answer: await (await answers).answer(name, asked as never) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { id, error: message, status: error instanceof RequestError ? error.status : 500 }
  }
}
