/** Lines at the steps of checkpoints, resumes, evaluations, acts and warnings. */
import type uPlot from 'uplot'
import type { Marker } from '../../api.js'
import { type ColourName, colour } from './theme.js'

export const markerColours: Readonly<Record<Marker['kind'], ColourName>> = {
  checkpoint: 'dim',
  resumed: 'warn',
  evaluation: 'series-3',
  act: 'accent',
  warning: 'bad',
}

export function markerPlugin(markers: () => readonly Marker[]): uPlot.Plugin {
  return {
    hooks: {
      drawClear: u => {
        const { ctx, bbox } = u
        const drawn = new Set<string>()
        ctx.save()
        ctx.lineWidth = devicePixelRatio
        for (const { kind, step } of markers()) {
          const at = Math.round(u.valToPos(step, 'x', true))
          // Of a thousand checkpoints in one pixel, one line is drawn.
          if (at < bbox.left || at > bbox.left + bbox.width || drawn.has(`${kind} ${at}`)) continue
          drawn.add(`${kind} ${at}`)
          const ink = colour(markerColours[kind])
          ctx.strokeStyle = ink
          ctx.fillStyle = ink
          ctx.setLineDash(kind === 'checkpoint' ? [2, 4] : [])
          ctx.globalAlpha = kind === 'checkpoint' ? 0.6 : 0.8
          ctx.beginPath()
          ctx.moveTo(at, bbox.top)
          ctx.lineTo(at, bbox.top + bbox.height)
          ctx.stroke()
          const size = 4 * devicePixelRatio
          ctx.beginPath()
          ctx.moveTo(at - size, bbox.top)
          ctx.lineTo(at + size, bbox.top)
          ctx.lineTo(at, bbox.top + size)
          ctx.fill()
        }
        ctx.restore()
      },
    },
  }
}
