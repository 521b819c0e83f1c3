/*
 * The state machine of every signal, which no tree can break. A tree is asked every `step` seconds. It may not end a
 * green before the minimum green is over, nobody gets green before yellow and all-red are, the next green waits for slow
 * vehicles inside the junction, but not for longer than the clearance, and a movement with waiting vehicles gets green
 * within the maximum red, whatever the tree asks for.
 *
 * For each signal, call `start` once and `second` once per second; show the lights that it returns for that second.
 * Detectors are read when a tree is asked. `occupied` is not 0 while vehicles whose way in is not green any more are
 * inside the junction and slow; it is read in the second before a green. Letters of lights: G green, g green that yields, y yellow, r red.
 */
typedef struct {
    char lights[HV_LINKS + 1];
    int started;
    int until_choice;         /* seconds until the tree is asked again */
    int goal;                 /* the phase that is green, or becomes green next; -1: none */
    int until_red;            /* seconds of yellow that are left */
    int until_green;          /* seconds of yellow and all-red that are left */
    int put_off;              /* seconds that this green has waited for the junction to clear */
    int green_for;            /* seconds of green, as far as the minimum green needs them */
    int red_for[HV_PHASES];   /* seconds since each phase was green */
    int waited[HV_MOVEMENTS]; /* seconds that each movement has had vehicles waiting at red */
} hv_signal;

typedef struct {
    int step, yellow, change, clearance, min_green, max_red, slot; /* seconds; change is yellow and all-red */
    int links, phases, movements, detectors, memory;
    const char *const *greens;   /* [phases] lights of each phase */
    const unsigned char *served; /* [phases * movements] what each phase lets go */
    const int *phase_of;         /* [movements] the phase for a movement that has waited too long; -1: none */
    const int *seen_by;          /* [movements] the detector that is above 0 while vehicles wait */
    int (*act)(const float *x);  /* the tree */
} hv_controller;

static int hv_is_green(char light)
{
    return light == 'G' || light == 'g';
}

/* The phase whose lights are shown; -1 while they change. */
static int hv_shown(const hv_controller *c, const hv_signal *s)
{
    int phase, link;

    for (phase = 0; phase < c->phases; phase++) {
        for (link = 0; link < c->links && s->lights[link] == c->greens[phase][link]; link++)
            ;
        if (link == c->links)
            return phase;
    }
    return -1;
}

/* Show what is due after yellow, and after all-red. */
static void hv_settle(const hv_controller *c, hv_signal *s)
{
    int link;

    for (link = 0; link < c->links && s->goal >= 0; link++) {
        if (s->until_green <= 0)
            s->lights[link] = c->greens[s->goal][link];
        else if (s->until_red <= 0 && s->lights[link] == 'y')
            s->lights[link] = 'r';
    }
}

/* A second has passed. */
static void hv_tick(const hv_controller *c, hv_signal *s, int occupied)
{
    int shown, phase, movement;

    if (occupied && s->until_green == 1 && s->put_off < c->clearance) {
        s->put_off++;
        s->until_green++;
    }
    if (s->until_green > 0) {
        s->until_red--;
        s->until_green--;
        hv_settle(c, s);
    } else if (s->green_for < c->min_green) {
        s->green_for++;
    }
    shown = hv_shown(c, s);
    for (phase = 0; phase < c->phases; phase++) {
        if (phase == shown)
            s->red_for[phase] = 0;
        else if (s->red_for[phase] < HV_LONGEST_MEMORY)
            s->red_for[phase]++;
    }
    for (movement = 0; movement < c->movements; movement++) {
        if (s->waited[movement] > 0)
            s->waited[movement]++;
    }
}

/* Whoever is seen waiting at red for the first time may have waited since the last choice. */
static void hv_notice(const hv_controller *c, hv_signal *s, const float *detectors)
{
    int movement, green;

    for (movement = 0; movement < c->movements; movement++) {
        green = s->goal >= 0 && s->until_green <= 0 && c->served[s->goal * c->movements + movement];
        if (!(detectors[c->seen_by[movement]] > 0.0f) || green || c->phase_of[movement] < 0)
            s->waited[movement] = 0;
        else if (s->waited[movement] == 0)
            s->waited[movement] = c->step;
    }
}

/* The wanted phase, if all others who wait can still be served in time after it, the longest waiting first; else the
   phase of who has waited longest. */
static int hv_in_time(const hv_controller *c, const hv_signal *s, int wanted)
{
    int oldest[HV_PHASES] = {0}; /* by phase, the longest that anybody has waited for it */
    int taken = wanted == s->goal ? c->step : c->slot;
    int urgent = -1, late = 0, movement, phase, other, due;

    for (movement = 0; movement < c->movements; movement++) {
        if (s->waited[movement] == 0)
            continue;
        if (urgent < 0 || s->waited[movement] > s->waited[urgent])
            urgent = movement;
        if (!c->served[wanted * c->movements + movement] && s->waited[movement] > oldest[c->phase_of[movement]])
            oldest[c->phase_of[movement]] = s->waited[movement];
    }
    for (phase = 0; phase < c->phases; phase++) {
        due = oldest[phase] + taken + c->change + c->clearance;
        for (other = 0; other < c->phases; other++) {
            if (other != phase && oldest[other] >= oldest[phase])
                due += c->slot;
        }
        late = late || (oldest[phase] > 0 && due > c->max_red);
    }
    return late ? c->phase_of[urgent] : wanted;
}

static int hv_ask(const hv_controller *c, const hv_signal *s, const float *detectors)
{
    float x[HV_FEATURES];
    int shown = hv_shown(c, s), count = 0, k;

    for (k = 0; k < c->phases; k++)
        x[count++] = k == shown ? 1.0f : 0.0f;
    for (k = 0; k < c->phases && c->memory; k++)
        x[count++] = (float)s->red_for[k];
    for (k = 0; k < c->detectors; k++)
        x[count++] = detectors[k];
    return c->act(x);
}

static void hv_choose(const hv_controller *c, hv_signal *s, const float *detectors)
{
    int phase, link;

    if (c->max_red > 0)
        hv_notice(c, s, detectors);
    if (s->until_green > 0 || s->green_for < c->min_green)
        return;
    phase = hv_ask(c, s, detectors);
    if (c->max_red > 0)
        phase = hv_in_time(c, s, phase);
    if (phase != hv_shown(c, s)) {
        for (link = 0; link < c->links; link++) {
            if (hv_is_green(s->lights[link]) && !hv_is_green(c->greens[phase][link]))
                s->lights[link] = 'y';
        }
        s->until_red = c->yellow;
        s->until_green = c->change;
        s->green_for = 0;
        s->put_off = 0;
    }
    s->goal = phase;
    hv_settle(c, s);
}

/* Begin with the lights that are shown; links without a letter are red. */
static void hv_start(const hv_controller *c, hv_signal *s, const char *lights)
{
    static const hv_signal nothing;
    int link;

    *s = nothing;
    for (link = 0; link < c->links && lights && lights[link]; link++)
        s->lights[link] = lights[link];
    for (; link < c->links; link++)
        s->lights[link] = 'r';
    s->goal = hv_shown(c, s);
    s->green_for = c->min_green;
}

static const char *hv_second(const hv_controller *c, hv_signal *s, const float *detectors, int occupied)
{
    if (s->started)
        hv_tick(c, s, occupied);
    s->started = 1;
    if (s->until_choice == 0) {
        hv_choose(c, s, detectors);
        s->until_choice = c->step;
    }
    s->until_choice--;
    return s->lights;
}
