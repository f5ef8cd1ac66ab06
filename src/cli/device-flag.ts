/** `--device`, in a file that needs no libtorch: `reward test` runs rules on machines without it. */
import { z } from 'zod'

export const deviceFlag = z
  .string()
  .regex(/^(auto|cpu|cuda(:\d{1,3})?)$/, {
    error: ({ input }) => `expected auto, cpu, cuda or cuda:N, got "${input}"`,
  })
  .meta({ placeholder: 'DEVICE', description: 'cpu, cuda, cuda:N, or auto (a GPU if the machine has one)' })
  .default('auto')
