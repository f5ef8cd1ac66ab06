import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readMediaConfig, type VisionFamily } from '../../src/media/index.js'
import { fresh } from '../support/files.js'

const clip = { image_mean: [0.48145466, 0.4578275, 0.40821073], image_std: [0.26862954, 0.26130258, 0.27577711] }
/** As released with Qwen2.5-VL. */
const released = {
  min_pixels: 3136,
  max_pixels: 12_845_056,
  patch_size: 14,
  temporal_patch_size: 2,
  merge_size: 2,
  ...clip,
  image_processor_type: 'Qwen2VLImageProcessor',
  processor_class: 'Qwen2_5_VLProcessor',
}
const half = { image_mean: [0.5, 0.5, 0.5], image_std: [0.5, 0.5, 0.5] }
const qwen3 = { patch_size: 16, temporal_patch_size: 2, merge_size: 2, ...half }
const qwen3Image = {
  ...qwen3,
  size: { longest_edge: 16_777_216, shortest_edge: 65_536 },
  image_processor_type: 'Qwen2VLImageProcessorFast',
}
const qwen3Video = {
  ...qwen3,
  size: { longest_edge: 25_165_824, shortest_edge: 4096 },
  video_processor_type: 'Qwen3VLVideoProcessor',
}

function directory(files: Readonly<Record<string, unknown>>): string {
  const path = fresh('model')
  mkdirSync(path)
  for (const [name, value] of Object.entries(files))
    writeFileSync(join(path, name), typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

const read = (files: Readonly<Record<string, unknown>>, family: VisionFamily = 'qwen2_5_vl') =>
  readMediaConfig(directory(files), family)
const image = (changes: object) => ({ 'preprocessor_config.json': { ...released, ...changes } })

describe('spellings', () => {
  const wanted = {
    patchSize: 14,
    mergeSize: 2,
    temporalPatchSize: 2,
    mean: clip.image_mean,
    std: clip.image_std,
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

  test('as released: videos take the bounds of images', async () => {
    expect(await read(image({}))).toEqual(wanted)
  })

  test('bounds as an object of edges, or of pixels', async () => {
    const { min_pixels, max_pixels, ...rest } = released
    const size = { shortest_edge: min_pixels, longest_edge: max_pixels }
    expect(await read({ 'preprocessor_config.json': { ...rest, size } })).toEqual(wanted)
    const pixels = { min_pixels, max_pixels }
    expect(await read({ 'preprocessor_config.json': { ...rest, size: pixels } })).toEqual(wanted)
    // min_pixels and max_pixels win, as in transformers.
    expect(await read(image({ size: { shortest_edge: 1, longest_edge: 2 } }))).toEqual(wanted)
  })

  test('both inside processor_config.json, which comes first', async () => {
    const { image_processor_type, ...common } = released
    const nested = {
      processor_class: 'Qwen2_5_VLProcessor',
      image_processor: released,
      video_processor: { ...common, video_processor_type: 'Qwen2VLVideoProcessor', fps: 4, do_sample_frames: false },
    }
    const found = await read({
      'processor_config.json': nested,
      'preprocessor_config.json': { ...released, patch_size: 9 },
    })
    expect(found).toEqual({ ...wanted, video: { ...wanted.video, fps: 4 } })
  })

  test('what transformers writes beside, null included', async () => {
    const more = {
      do_resize: true,
      do_rescale: true,
      do_normalize: true,
      do_convert_rgb: true,
      resample: 3,
      rescale_factor: 1 / 255,
      do_center_crop: null,
      crop_size: null,
      data_format: 'channels_first',
      device: null,
      brand_new: null,
    }
    expect(await read(image(more))).toEqual(wanted)
  })

  test('Qwen3-VL bounds whole videos', async () => {
    const files = { 'preprocessor_config.json': qwen3Image, 'video_preprocessor_config.json': qwen3Video }
    expect(await read(files, 'qwen3_vl')).toMatchObject({
      patchSize: 16,
      image: { minPixels: 65_536, maxPixels: 16_777_216 },
      video: { minPixels: 4096, maxPixels: 25_165_824, bounds: 'video', sampling: 'ends' },
    })
  })
})

describe('refusals', () => {
  test.each<[string, object, string]>([
    ['do_resize', { do_resize: false }, 'do_resize: only true is implemented'],
    ['do_normalize', { do_normalize: false }, 'do_normalize: only true is implemented'],
    ['do_center_crop', { do_center_crop: true }, 'do_center_crop: only false is implemented'],
    ['resample', { resample: 2 }, 'resample: only 3 is implemented'],
    ['rescale_factor', { rescale_factor: 1 / 127.5 }, 'rescale_factor: only 1/255 is implemented'],
    ['an unknown field', { sharpen: true }, 'the field "sharpen" is not known'],
    ['another processor', { image_processor_type: 'CLIPImageProcessor' }, 'CLIPImageProcessor is not implemented'],
    ['a missing field', { patch_size: undefined }, 'patch_size: expected number'],
    ['two channels', { image_mean: [0.5, 0.5] }, 'image_mean: '],
    ['bounds upside down', { min_pixels: 100, max_pixels: 50 }, 'the smallest size (100 pixels) is above the largest'],
  ])('%s', async (_, changes, message) => {
    await expect(read(image(changes))).rejects.toThrow(message)
    await expect(read(image(changes))).rejects.toMatchObject({ code: 'WHETSTONE_MODEL' })
  })

  test('files that are missing or damaged', async () => {
    await expect(read({})).rejects.toThrow('there is no preprocessor_config.json')
    await expect(read({ 'preprocessor_config.json': '{' })).rejects.toThrow('it is not JSON')
    await expect(read({ 'preprocessor_config.json': '[]' })).rejects.toThrow('it is not an object of JSON')
  })

  test('videos that the tower of images does not read', async () => {
    const files = (changes: object) => ({
      'preprocessor_config.json': qwen3Image,
      'video_preprocessor_config.json': { ...qwen3Video, ...changes },
    })
    await expect(read(files({ patch_size: 14 }), 'qwen3_vl')).rejects.toThrow('patchSize is 14, and that of images 16')
    await expect(read(files({ cap_pixels_per_frame: true }), 'qwen3_vl')).rejects.toThrow('only false is implemented')
    await expect(read(files({ num_frames: 8 }), 'qwen3_vl')).rejects.toThrow('"num_frames" is not known')
    await expect(read(files({}), 'qwen2_5_vl')).rejects.toThrow('expected Qwen2VLVideoProcessor')
  })
})
