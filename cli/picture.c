/* SPDX-License-Identifier: BSD-2-Clause */
/* Pictures of link loads. */
#include "cli/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <glib.h>

#include "cli/text.h"
#include "routing/jobs.h"

/* In units of the SVG, pixels at its natural size. */
#define WIDTH 960
#define LEFT 64
#define CHART_WIDTH 620
#define HEAD_HEIGHT 116
#define CHART_HEIGHT 96
#define STRIP_HEIGHT 18
#define PANEL_HEIGHT 212
#define NOTES_X (LEFT + CHART_WIDTH + 28)
#define BARS 62u         /* bins of load at most */
#define CELLS 310u       /* of a strip */
#define TITLE_BYTES 120u /* that are shown */
#define SHADES 9u

/* Light to dark, told apart in grey, too. */
static const char *const shades[SHADES] = {"#e4ecf4", "#cfdcec", "#b3cae3", "#92b4d8", "#6f9bcb",
                                           "#4d80bb", "#3265a3", "#204a82", "#12305a"};

struct panel {
    unsigned tier;
    enum rt_direction direction;
    GArray *loads; /* uint32_t, in the order of links */
    uint32_t max, median, idle;
    double mean;
};

struct picture {
    FILE *out;
    uint32_t max, bin; /* greatest load of all; loads in a bin */
    unsigned bars;     /* bins that there are */
};

/* -- numbers --------------------------------------------------------------------------------- */

static gint compare(gconstpointer a, gconstpointer b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void summarise(struct panel *p)
{
    g_autoptr(GArray) sorted = g_array_copy(p->loads);
    uint64_t sum = 0;
    g_array_sort(sorted, compare);
    for (guint i = 0; i < sorted->len; i++) {
        uint32_t load = g_array_index(sorted, uint32_t, i);
        sum += load;
        p->idle += load == 0;
    }
    p->median = g_array_index(sorted, uint32_t, sorted->len / 2);
    p->max = g_array_index(sorted, uint32_t, sorted->len - 1);
    p->mean = (double)sum / sorted->len;
}

static void panel_free(gpointer panel)
{
    struct panel *p = panel;
    g_array_free(p->loads, TRUE);
    g_free(p);
}

/* Panels that have links, from the lowest tier. */
static GPtrArray *make_panels(const struct rt_graph *g, const uint32_t *load)
{
    GPtrArray *panels = g_ptr_array_new_with_free_func(panel_free);
    struct rt_tiers tiers;
    rt_tiers_make(g, &tiers);
    for (unsigned t = 0; t < tiers.count; t++)
        for (unsigned d = 0; d < RT_DIRECTIONS; d++) {
            struct panel *p = g_new0(struct panel, 1);
            *p = (struct panel){t, (enum rt_direction)d,
                                .loads = g_array_new(FALSE, FALSE, sizeof(uint32_t))};
            for (uint32_t l = 0; l < g->link_count; l++)
                if (tiers.tier[l] == t && tiers.direction[l] == d)
                    g_array_append_val(p->loads, load[l]);
            if (p->loads->len == 0) {
                panel_free(p);
                continue;
            }
            summarise(p);
            g_ptr_array_add(panels, p);
        }
    rt_tiers_clear(&tiers);
    return panels;
}

/* 1, 2 or 5 times a power of ten: at least `least`. */
static uint64_t round_step(uint64_t least)
{
    static const unsigned steps[] = {1, 2, 5};
    for (uint64_t power = 1;; power *= 10)
        for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++)
            if (steps[i] * power >= least)
                return steps[i] * power;
}

/* -- text ------------------------------------------------------------------------------------ */

static void text(const struct picture *p, double x, double y, const char *class, const char *format,
                 ...) G_GNUC_PRINTF(5, 6);

static void text(const struct picture *p, double x, double y, const char *class, const char *format,
                 ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *plain = g_strdup_vprintf(format, args);
    g_autofree char *escaped = g_markup_escape_text(plain, -1);
    va_end(args);
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, escaped);
}

static void rect(const struct picture *p, double x, double y, double width, double height,
                 const char *fill)
{
    fprintf(p->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x,
            y, width, height, fill);
}

static void line(const struct picture *p, double x1, double y1, double x2, double y2,
                 const char *class)
{
    fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1,
            y1, x2, y2, class);
}

static const char *shade(const struct picture *p, double load)
{
    unsigned at = p->max > 0 ? (unsigned)(load / p->max * SHADES) : 0;
    return shades[MIN(at, SHADES - 1)];
}

static char *panel_name(const struct panel *p)
{
    static const char *const names[RT_DIRECTIONS] = {"up", "down", "within the tier"};
    if (p->direction == RT_LEVEL)
        return g_strdup_printf("Tier %u, %s", p->tier + 1, names[p->direction]);
    return g_strdup_printf("Tier %u-%u, %s", p->tier + 1, p->tier + 2, names[p->direction]);
}

/* -- a panel --------------------------------------------------------------------------------- */

static double x_of(const struct picture *p, double load)
{
    return LEFT + CHART_WIDTH * load / ((double)p->bin * p->bars);
}

static void draw_load_axis(const struct picture *p, double base)
{
    uint64_t end = (uint64_t)p->bin * p->bars, step = round_step((end + 7) / 8);
    line(p, LEFT, base, LEFT + CHART_WIDTH, base, "axis");
    for (uint64_t load = 0; load < end; load += step) {
        double x = x_of(p, (double)load + (p->bin == 1 ? 0.5 : 0.0));
        line(p, x, base, x, base + 4, "axis");
        text(p, x, base + 16, "tick middle", "%" PRIu64, load);
    }
}

static void draw_mark(const struct picture *p, double base, uint32_t load, const char *class)
{
    double x = x_of(p, load + 0.5);
    line(p, x, base - CHART_HEIGHT, x, base, class);
}

static void draw_histogram(const struct picture *p, const struct panel *panel, double base)
{
    uint32_t counts[BARS] = {0}, most = 0;
    double width = (double)CHART_WIDTH / p->bars;
    for (guint i = 0; i < panel->loads->len; i++) {
        uint32_t *count = &counts[g_array_index(panel->loads, uint32_t, i) / p->bin];
        most = MAX(most, ++*count);
    }
    uint64_t step = round_step((most + 2u) / 3u), top = (most + step - 1) / step * step;
    for (uint64_t count = step; count <= top; count += step) {
        double y = base - (double)CHART_HEIGHT * (double)count / (double)top;
        line(p, LEFT, y, LEFT + CHART_WIDTH, y, "grid");
        text(p, LEFT - 6, y + 4, "tick end", "%" PRIu64, count);
    }
    for (unsigned i = 0; i < p->bars; i++) {
        double height = (double)CHART_HEIGHT * counts[i] / (double)top;
        if (counts[i] > 0) /* a single link among thousands is still seen */
            rect(p, LEFT + i * width + 0.5, base - MAX(height, 1.5), MAX(width - 1, 1),
                 MAX(height, 1.5), "#4d80bb");
    }
    draw_mark(p, base, panel->median, "median");
    draw_mark(p, base, panel->max, "max");
    draw_load_axis(p, base);
}

/* Links in the order of switches and ports; each cell has the greatest load of its links. */
static void draw_strip(const struct picture *p, const struct panel *panel, double y)
{
    uint32_t links = panel->loads->len, cells = MIN(links, CELLS);
    double width = (double)CHART_WIDTH / cells;
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t first = (uint32_t)((uint64_t)i * links / cells), greatest = 0;
        uint32_t end = (uint32_t)((uint64_t)(i + 1) * links / cells);
        for (uint32_t l = first; l < end; l++)
            greatest = MAX(greatest, g_array_index(panel->loads, uint32_t, l));
        rect(p, LEFT + i * width, y, width + 0.05, STRIP_HEIGHT, shade(p, greatest));
    }
    fprintf(p->out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" class=\"frame\"/>\n",
            LEFT, y, CHART_WIDTH, STRIP_HEIGHT);
}

static void draw_panel(const struct picture *p, const struct panel *panel, double top)
{
    g_autofree char *name = panel_name(panel);
    uint32_t links = panel->loads->len;
    double base = top + 24 + CHART_HEIGHT;
    fprintf(p->out, "<g>\n<title>%s: %u links, max %u, median %u</title>\n", name, links,
            panel->max, panel->median);
    text(p, LEFT, top + 12, "name", "%s", name);
    draw_histogram(p, panel, base);
    draw_strip(p, panel, base + 26);
    text(p, LEFT, base + 26 + STRIP_HEIGHT + 14, "tick",
         links > CELLS ? "by switch and port, the greatest of %u to %u links a cell"
                       : "by switch and port, a link a cell",
         links / CELLS, (links + CELLS - 1) / CELLS);
    text(p, NOTES_X, top + 44, "note", "%u links", links);
    text(p, NOTES_X, top + 64, "note maxtext", "max %u", panel->max);
    text(p, NOTES_X, top + 84, "note mediantext", "median %u", panel->median);
    text(p, NOTES_X, top + 104, "note", "mean %.1f", panel->mean);
    text(p, NOTES_X, top + 124, "note", "%u unused", panel->idle);
    fputs("</g>\n", p->out);
}

/* -------------------------------------------------------------------------------------------- */

static const char style[] =
    "<style>text{font-family:sans-serif;fill:#222}.title{font-size:18px;font-weight:bold}"
    ".sub{font-size:12px;fill:#555}.name{font-size:14px;font-weight:bold}"
    ".tick{font-size:11px;fill:#555}.note{font-size:13px}.middle{text-anchor:middle}"
    ".end{text-anchor:end}.axis{stroke:#555;stroke-width:1}.grid{stroke:#e3e3e3;stroke-width:1}"
    ".median{stroke:#2e7d32;stroke-width:1.5;stroke-dasharray:4 3}"
    ".max{stroke:#c0392b;stroke-width:1.5}.maxtext{fill:#c0392b}.mediantext{fill:#2e7d32}"
    ".frame{fill:none;stroke:#999;stroke-width:0.5}</style>\n";

static void draw_legend(const struct picture *p)
{
    double y = 84;
    text(p, LEFT, y + 10, "tick", "Bars: links with that load (flows, across).");
    line(p, LEFT + 250, y - 1, LEFT + 250, y + 13, "median");
    text(p, LEFT + 257, y + 10, "tick", "median");
    line(p, LEFT + 312, y - 1, LEFT + 312, y + 13, "max");
    text(p, LEFT + 319, y + 10, "tick", "max");
    text(p, LEFT + 380, y + 10, "tick", "Strips: load from 0");
    for (unsigned i = 0; i < SHADES; i++)
        rect(p, LEFT + 488 + i * 18, y, 18.05, 12, shades[i]);
    text(p, LEFT + 488 + SHADES * 18 + 6, y + 10, "tick", "to %u", p->max);
}

static void draw_head(const struct picture *p, const struct rt_graph *g, const char *title,
                      unsigned height)
{
    g_autofree char *valid = g_utf8_make_valid(title, -1);
    bool cut = g_utf8_strlen(valid, -1) > (glong)TITLE_BYTES;
    g_autofree char *start = g_utf8_substring(valid, 0, cut ? (glong)TITLE_BYTES : -1);
    g_autofree char *clean = text_shown(start);
    g_autofree char *shown = g_strconcat(*clean ? clean : "Load of links", cut ? "..." : "", NULL);
    g_autofree char *escaped = g_markup_escape_text(shown, -1);
    fprintf(
        p->out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
        "viewBox=\"0 0 %d %u\" role=\"img\" aria-labelledby=\"title desc\">\n"
        "<title id=\"title\">%s</title>\n"
        "<desc id=\"desc\">Load of %u links (directions of cables) between %u switches, by tier "
        "and direction: histograms and strips. The greatest load is %u.</desc>\n",
        WIDTH, height, WIDTH, height, escaped, g->link_count, g->switch_count, p->max);
    fputs(style, p->out);
    rect(p, 0, 0, WIDTH, height, "#ffffff");
    text(p, LEFT, 36, "title", "%s", shown);
    text(p, LEFT, 58, "sub",
         "%u switches, %u links between switches (directions), greatest load %u", g->switch_count,
         g->link_count, p->max);
    draw_legend(p);
}

int picture_write(FILE *out, const struct rt_graph *g, const uint32_t *load_of_link,
                  const char *title)
{
    struct picture p = {.out = out};
    g_autoptr(GPtrArray) panels = make_panels(g, load_of_link);
    unsigned height = HEAD_HEIGHT + PANEL_HEIGHT * MAX(panels->len, 1u);
    for (guint i = 0; i < panels->len; i++)
        p.max = MAX(p.max, ((const struct panel *)panels->pdata[i])->max);
    p.bin = (uint32_t)round_step(((uint64_t)p.max + BARS) / BARS);
    p.bars = p.max / p.bin + 1;
    draw_head(&p, g, title, height);
    for (guint i = 0; i < panels->len; i++)
        draw_panel(&p, panels->pdata[i], HEAD_HEIGHT + PANEL_HEIGHT * i);
    if (panels->len == 0)
        text(&p, LEFT, HEAD_HEIGHT + 24, "name", "No links between switches");
    fputs("</svg>\n", out);
    return fflush(out) || ferror(out) ? (errno ? errno : EIO) : 0;
}
