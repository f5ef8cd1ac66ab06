"""Writes src/plot/glyphs.ts: outlines of a font for pictures without fonts.

    pip install fonttools
    python tools/make-glyphs.py DejaVuSans.ttf > src/plot/glyphs.ts && npx biome check --write src/plot/glyphs.ts
"""
import sys
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont

EM = 1000
CHARACTERS = [*map(chr, range(0x20, 0x7F)), *map(chr, range(0xA1, 0x100)), *"–—‘’“”…−≤≥"]

font = TTFont(sys.argv[1])
glyphs, names, scale = font.getGlyphSet(), font.getBestCmap(), EM / font["head"].unitsPerEm


def point(at):
    return f"{round(at[0] * scale)} {round(at[1] * scale)}"


def outline(name):
    pen = DecomposingRecordingPen(glyphs)
    glyphs[name].draw(pen)
    path = ""
    for kind, points in pen.value:
        if kind == "moveTo":
            path += f"M{point(points[0])}"
        elif kind == "lineTo":
            path += f"L{point(points[0])}"
        elif kind == "qCurveTo":
            *controls, end = points
            for at, control in enumerate(controls):
                following = controls[at + 1] if at + 1 < len(controls) else None
                middle = end if following is None else ((control[0] + following[0]) / 2, (control[1] + following[1]) / 2)
                path += f"Q{point(control)} {point(middle)}"
    return path


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


print(
    f"""/**
 * Outlines of DejaVu Sans, written by tools/make-glyphs.py; src/plot/font-license.txt is its licence. Of each character: how far it
 * moves on, and its outline in the words of SVG, in {EM} units an em, y upwards.
 */
export const glyphs: Readonly<Record<string, string>> = {{"""
)
for character in CHARACTERS:
    name = names[ord(character)]
    print(f"  {quoted(character)}: '{round(glyphs[name].width * scale)}{outline(name)}',")
print("}")
