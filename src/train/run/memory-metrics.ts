import { type Device, memoryUse } from '../../tensor/index.js'

/** What this process and the model's device hold, by the metrics' names; the peak is since the last call. */
export function memoryMetrics(device: Device): Record<string, number> {
  const rss = { 'memory/rss': process.memoryUsage.rss() }
  if (device === 'cpu') return rss
  const { bytes, peakBytes } = memoryUse(device)
  // From here on; what it answers is the peak after the reset.
  memoryUse(device, { resetPeak: true })
  return { ...rss, 'memory/device': bytes, 'memory/device_peak': peakBytes }
}
