/** A server of our own for a training of images, whose weights the training replaces. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { serve } from '../../src/api/index.js'
import { LocalModel } from '../../src/model/index.js'
import type { Options } from './covered-options.js'
import { fresh, temporaryDirectory } from './files.js'

const weightsDirectory = temporaryDirectory()
process.env.WHETSTONE_TEST_KEY = 'secret'

/** The generator of a config; `url` of a server that {@link startWeightServer} started. */
export const generatorAt = (url: string): Options => ({
  type: 'vllm',
  urls: [url],
  apiKeyEnv: 'WHETSTONE_TEST_KEY',
  weightsDirectory,
  patienceMinutes: 0.2,
})

/** Serves the weights that training begins with, in the dtype that they are trained in. */
export async function startWeightServer(model: string, { dtype = 'float32', lora }: Options) {
  const directory = fresh('served')
  const served = await LocalModel.load(model, { role: 'language', dtype: dtype as 'float32' })
  await served.export(directory, { what: 'model' })
  served.dispose()
  for (const file of ['preprocessor_config.json', 'tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    copyFileSync(join(model, file), join(directory, file))
  const adapters = lora === undefined ? {} : { adapters: 'exchangeable' as const }
  const control = { weightsRoot: weightsDirectory }
  const own = { apiKey: 'secret', control, logprobsMode: 'processed_logprobs', ...adapters } as const
  const { url, close } = await serve({ model: directory, port: 0, ...own })
  return { url: url.replace(/\/v1$/, ''), close }
}
