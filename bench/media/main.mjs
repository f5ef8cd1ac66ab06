/**
 * Images per second from files to what a model reads, beside transformers' fast (torchvision) processor with as many threads. Then
 * what images cost a model: samples that share one, and batches of images and text, packed and padded.
 *
 *   npm run bench:media              the table
 *   npm run bench:media -- --check   the same, and exit code 1 when a promise is not kept
 *
 * Here a model gets bytes, and normalises and cuts them on its device. The rows "and cut" do that too, on the CPU, to float32 as
 * the peer does.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { MediaProcessor } from 'whetstone/media'
import { record, Tensor, threads } from 'whetstone/tensor'
import { cutPatchesOnCpu } from '#whetstone/decoder'
import { inTurns, printTable, startPython } from '../harness.mjs'
import { measureSharing } from './sharing.mjs'

const COUNT = 24
const shapes = [
  { name: 'JPEG 1280 x 720', width: 1280, height: 720, format: /** @type {const} */ ('jpeg') },
  { name: 'JPEG 640 x 480', width: 640, height: 480, format: /** @type {const} */ ('jpeg') },
  { name: 'PNG 640 x 480', width: 640, height: 480, format: /** @type {const} */ ('png') },
]

/** As released with Qwen2.5-VL. @type {import('whetstone/media').MediaConfig} */
const config = {
  patchSize: 14,
  mergeSize: 2,
  temporalPatchSize: 2,
  mean: [0.48145466, 0.4578275, 0.40821073],
  std: [0.26862954, 0.26130258, 0.27577711],
  image: { minPixels: 3136, maxPixels: 12_845_056 },
  video: {
    minPixels: 3136,
    maxPixels: 12_845_056,
    bounds: 'frame',
    sampling: 'even',
    fps: 2,
    minFrames: 4,
    maxFrames: 768,
  },
}

const [mean, std] = [config.mean, config.std].map(values =>
  Tensor.from(
    Float32Array.from(values, value => Math.fround(value) * 255),
    { shape: [3, 1] },
  ),
)
const cut = record(['tensor', 'number', 'number'], (frames, height, width) =>
  cutPatchesOnCpu(frames, { mean, std }, { time: 1, height, width }, { patch: 14, temporalPatch: 2, merge: 2 }),
)

const folder = mkdtempSync(join(tmpdir(), 'whetstone-bench-media-'))
const python = startPython(fileURLToPath(new URL('peer.py', import.meta.url)))
const version = await python?.ask('version')
console.log(
  `Node ${process.versions.node}, sharp ${sharp.versions.sharp}, ${version ?? 'no transformers with torchvision: column skipped'}\n`,
)

/** Images like photographs: large areas that change slowly, with noise. @param {typeof shapes[number]} shape @param {number} number */
async function write({ width, height, format }, number) {
  const data = new Uint8Array(width * height * 3)
  for (let y = 0, at = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let channel = 0; channel < 3; channel++, at++)
        data[at] = 128 + 80 * Math.sin((x * (channel + 1) + y * number) / 90) + ((x * 7919 + y * 104_729 + number) % 23)
  const file = join(folder, `${width}-${number}.${format}`)
  await sharp(data, { raw: { width, height, channels: 3 } })
    .toFormat(format, format === 'jpeg' ? { quality: 88 } : {})
    .toFile(file)
  return file
}

/**
 * @param {readonly string[]} files
 * @param {number} inFlight
 * @param {'bytes' | 'cut'} until
 * @returns {Promise<number>} seconds of an image
 */
async function measure(files, inFlight, until) {
  threads(inFlight)
  const media = new MediaProcessor({ config, cacheBytes: 0 })
  const left = [...files]
  const work = async () => {
    for (let file = left.pop(); file !== undefined; file = left.pop()) {
      const { frames, grid } = await media.image(file)
      if (until === 'bytes') continue
      const one = Tensor.from(frames, { shape: [1, frames.length] })
      const rows = await cut.run(one, grid[1] / 2, grid[2] / 2)
      for (const tensor of [one, rows]) tensor.dispose()
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: inFlight }, work))
  return (performance.now() - started) / 1000 / files.length
}

/** @param {number | undefined} seconds */
const perSecond = seconds => (seconds === undefined ? '-' : `${(1 / seconds).toFixed(0)} /s`)

/** @type {import('../harness.mjs').Row[]} */
const rows = []
for (const shape of shapes) {
  /** @type {string[]} */
  const files = []
  for (let number = 0; number < COUNT; number++) files.push(await write(shape, number))
  await measure(files.slice(0, 4), 2, 'cut')
  for (const count of [1, 2]) {
    const found = await inTurns(
      {
        bytes: () => measure(files, count, 'bytes'),
        cut: () => measure(files, count, 'cut'),
        theirs: python && (() => python.measure(JSON.stringify({ files, threads: count }))),
      },
      3,
    )
    for (const until of /** @type {const} */ (['bytes', 'cut'])) {
      const ratio = found.theirs === undefined ? undefined : found.theirs / found[until]
      rows.push({
        name: `${shape.name}, ${count === 1 ? '1 thread' : `${count} threads`}${until === 'cut' ? ', and cut' : ''}`,
        cells: [perSecond(found[until]), perSecond(found.theirs), ratio === undefined ? '-' : ratio.toFixed(2)],
        targets:
          count === 2 && until === 'bytes'
            ? [{ text: '2x as fast', holds: ratio === undefined ? undefined : ratio >= 2 }]
            : [],
      })
    }
  }
}
python?.close()
rmSync(folder, { recursive: true })
const fast = printTable(['images', 'Whetstone', 'transformers', 'ratio'], rows)
console.log('')
const shared = await measureSharing()
if (process.argv.includes('--check') && !(fast && shared)) process.exitCode = 1
