/** The fields of an image or video processor, as transformers writes them. */
import { z } from 'zod'
import { InputError } from '../errors/index.js'

const count = z.int().positive()
const channels = z.tuple([z.number(), z.number(), z.number()])
/** A field whose other values would change pixels. */
const only = <T extends z.core.util.Literal>(value: T) => z.literal(value).optional()
/** A field that changes no pixels here. */
const ignored = z.unknown().optional()

const schema = z.strictObject({
  patch_size: count,
  merge_size: count,
  temporal_patch_size: count,
  image_mean: channels,
  image_std: channels,
  min_pixels: count.optional(),
  max_pixels: count.optional(),
  size: z
    .strictObject({
      shortest_edge: count.optional(),
      longest_edge: count.optional(),
      min_pixels: count.optional(),
      max_pixels: count.optional(),
    })
    .optional(),
  fps: z.number().positive().optional(),
  min_frames: count.optional(),
  max_frames: count.optional(),
  do_resize: only(true),
  do_rescale: only(true),
  do_normalize: only(true),
  do_convert_rgb: only(true),
  do_center_crop: only(false),
  do_pad: only(false),
  cap_pixels_per_frame: only(false),
  // Bicubic.
  resample: only(3),
  rescale_factor: z
    .number()
    .refine(value => Math.abs(value * 255 - 1) < 1e-6, 'only 1/255 is implemented')
    .optional(),
  image_processor_type: z.string().optional(),
  feature_extractor_type: z.string().optional(),
  video_processor_type: z.string().optional(),
  auto_map: ignored,
  crop_size: ignored,
  data_format: ignored,
  default_to_square: ignored,
  device: ignored,
  disable_grouping: ignored,
  do_sample_frames: ignored,
  image_seq_length: ignored,
  input_data_format: ignored,
  max_image_size: ignored,
  max_video_tokens: ignored,
  model_input_names: ignored,
  pad_size: ignored,
  processor_class: ignored,
  return_metadata: ignored,
  return_tensors: ignored,
  transformers_version: ignored,
  video_metadata: ignored,
})

export type ProcessorFields = z.infer<typeof schema>

/** Fields that are null are as good as absent. */
export function readProcessorFields(raw: Readonly<Record<string, unknown>>, file: string): ProcessorFields {
  const read = schema.safeParse(Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null)))
  if (read.success) return read.data
  const issue = read.error.issues[0]!
  const name = issue.path.join('.')
  throw new InputError(`${file}: ${name === '' ? '' : `${name}: `}${reason(issue)}`, { code: 'WHETSTONE_MODEL' })
}

function reason(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys')
    return `the field "${issue.keys[0]}" is not known; it may change pixels, so that the model would read other ones`
  if (issue.code === 'invalid_value') return `only ${issue.values.join(', ')} is implemented`
  return issue.message.replace(/^Invalid input: /, '')
}
