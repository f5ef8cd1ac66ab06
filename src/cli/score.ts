import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InputError } from '../errors/index.js'
import { BadLines, numberedLines, writeFileAtomic } from '../files/index.js'
import { LocalModel, NonFiniteError, type Outputs, type Role, readConfig, type ScoreOptions } from '../model/index.js'
import { count, type Report, reportFor } from '../progress/index.js'
import { backend, type Device } from '../tensor/index.js'
import { interruptible } from './interrupt.js'
import { ScoreInput, type ScoreRequest } from './score-input.js'
import { parseOptions, UsageError } from './usage.js'

export const help = `Usage: whetstone score --model DIR --input FILE.jsonl --output FILE.jsonl [options]

Computes what a model gives to token sequences. A line of the input is one of

  {"ids":[...]}                          every token but the first
  {"prompt":"...","response":"..."}      the response's tokens
  {"messages":[...]}                     the assistant's tokens, by the tokenizer's chat template

and the same line of the output {"logprobs":[...],"entropy":[...]}, one number per token, or {"score":x} where the model
is a reward model, which reads the whole sequence. Prompt and response are encoded one by one and joined as ids; the
tokenizer's special tokens, such as a bos, come before the prompt alone.

  --model DIR         a Hugging Face model directory
  --adapter DIR       a LoRA adapter in PEFT's format
  --packing on|off    lay sequences of unequal length one after another (default on), or pad them; the numbers are the same
  --device DEVICE     cpu (default), cuda or cuda:N

Bad lines are listed with their numbers before the model is loaded. The output appears when it is complete.
`

/** Lines are scored this many tokens or lines at a time: enough to make good batches of, little to hold in memory. */
const windowTokens = 1 << 16
const windowLines = 4096

interface Settings {
  model: string
  adapter: string | undefined
  input: string
  output: string
  packing: 'on' | 'off'
  device: Device
}

export async function run(args: string[]): Promise<number> {
  const settings = readSettings(args)
  const report = reportFor(process.env)
  return interruptible({
    work: signal => score(settings, report, signal),
    onInterrupt: () => report.line(`Interrupted; ${settings.output} was not written.`),
  })
}

function readSettings(args: string[]): Settings {
  const values = parseOptions(args, {
    model: { type: 'string' },
    adapter: { type: 'string' },
    input: { type: 'string' },
    output: { type: 'string' },
    packing: { type: 'string', default: 'on' },
    device: { type: 'string', default: 'cpu' },
  })
  const { model, adapter, input, output, packing, device } = values
  if (!model) throw new UsageError('--model: expected a directory')
  if (!input) throw new UsageError('--input: expected a file')
  if (!output) throw new UsageError('--output: expected a file')
  if (packing !== 'on' && packing !== 'off') throw new UsageError(`--packing: expected on or off, got "${packing}"`)
  if (!/^(cpu|cuda(:\d{1,3})?)$/.test(device!))
    throw new UsageError(`--device: expected cpu, cuda or cuda:N, got "${device}"`)
  return { model, adapter, input, output, packing, device: device as Device }
}

async function score(settings: Settings, report: Report, signal: AbortSignal): Promise<void> {
  const { model: directory, adapter, input: file, output, device } = settings
  const config = await readConfig(directory)
  const input = new ScoreInput(directory, config)
  const total = await validate(file, input, signal)
  const folder = dirname(resolve(output))
  await access(folder, constants.W_OK).catch(cause => {
    throw new InputError(`${output}: ${folder} is not a directory one can write to`, { cause })
  })
  if (device !== 'cpu' && !backend().cuda.available)
    throw new InputError(`--device ${device}: no usable CUDA device; \`whetstone doctor\` shows what there is`)

  const loading = report.transfer('loading')
  const model = await LocalModel.load<Role>(directory, {
    device,
    signal,
    ...(adapter === undefined ? {} : { adapter }),
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
  const started = performance.now()
  const scoring = report.transfer('scoring', count('tokens', 100_000))
  try {
    await writeFileAtomic(output, async target => {
      let done = 0
      for await (const requests of windows(file, input, signal)) {
        const tokens = requests.reduce((sum, { ids }) => sum + ids.length, 0)
        const onProgress = (scored: number) => scoring.at(done + (tokens * scored) / requests.length, total.tokens)
        const lines = await scoreWindow(model, requests, { packing: settings.packing, signal, onProgress })
        await target.appendFile(lines)
        done += tokens
      }
    })
  } finally {
    scoring.end()
    model.dispose()
  }
  const seconds = (performance.now() - started) / 1000
  const lines = count(total.lines === 1 ? 'line' : 'lines', 0).show(total.lines)
  const { show } = count('tokens', 0)
  report.line(`${output}: ${lines}, ${show(total.tokens)}, ${show(total.tokens / seconds)}/s`)
}

/** Every line, before anything costly is done. */
async function validate(
  file: string,
  input: ScoreInput,
  signal: AbortSignal,
): Promise<{ lines: number; tokens: number }> {
  const total = { lines: 0, tokens: 0 }
  const bad = new BadLines(file)
  for await (const { text, line } of numberedLines(file, { signal })) {
    try {
      total.tokens += (await input.request(text, line)).ids.length
      total.lines = line
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(line, error.message)
    }
  }
  bad.throwIfAny()
  return total
}

async function* windows(file: string, input: ScoreInput, signal: AbortSignal): AsyncGenerator<ScoreRequest[]> {
  let requests: ScoreRequest[] = []
  let tokens = 0
  for await (const { text, line } of numberedLines(file, { signal })) {
    const request = await input.request(text, line)
    requests.push(request)
    tokens += request.ids.length
    if (tokens < windowTokens && requests.length < windowLines) continue
    yield requests
    requests = []
    tokens = 0
  }
  if (requests.length > 0) yield requests
}

async function scoreWindow(
  model: LocalModel,
  requests: readonly ScoreRequest[],
  options: Pick<ScoreOptions, 'packing' | 'signal' | 'onProgress'>,
): Promise<string> {
  const sequences = requests.map(({ ids }) => ids)
  const wanted = { from: requests.map(({ from }) => from), entropy: model.role === 'language' }
  const results = await model.score(sequences, { ...options, ...wanted }).catch((error: unknown) => {
    if (!(error instanceof NonFiniteError)) throw error
    throw new InputError(`line ${requests[error.sequence]!.line}: the model's output is not finite`, { cause: error })
  })
  return results.map((result, i) => outputLine(result, requests[i]!.mask)).join('')
}

function outputLine(result: Outputs[Role], mask: Uint8Array | undefined): string {
  if ('score' in result) return `${JSON.stringify({ score: result.score })}\n`
  const { logprobs, entropy } = result as Outputs['language']
  const wanted = (values: Float32Array): number[] => Array.from(mask ? values.filter((_, i) => mask[i] === 1) : values)
  return `${JSON.stringify({ logprobs: wanted(logprobs), entropy: wanted(entropy!) })}\n`
}
